internal import LarderModel

/// How a snapshot gives a server timestamp that the server has not set yet.
public enum ServerTimestampBehavior: Hashable, Sendable {
    /// As null.
    case none
    /// As the time of the local write, by the local clock.
    case estimate
    /// As the field's value before the write, or null where it had none.
    case previous
}
