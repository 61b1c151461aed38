/// What happens on a stream of a call.
enum StreamEvent<Stream: Sendable, Event: Sendable>: Sendable {
    /// The backend's side is there, and the database that it is of.
    case opened(Stream, Session)
    /// The backend says something.
    case event(Event)
    /// The client says nothing more, or something wrong.
    case ended((any Error)?)
}
