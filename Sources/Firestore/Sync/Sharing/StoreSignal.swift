package import LarderModel

/// How the clients of a store tell each other that there is something new in it.
///
/// A signal may be given more often than there is news, and may be lost when a process ends:
/// clients look at the store from time to time all the same.
package protocol StoreSignal: Sendable {
    /// Tells every client but one that it has made a commit.
    func announce(from clientID: String)

    /// Calls a closure on a client's executor after the commits of others, until the result is
    /// let go.
    ///
    /// - Throws: `resourceExhausted` when the system has no more watches to give.
    func listen(
        as clientID: String, on scheduler: any Scheduler, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject
}
