/// Limits of a client's session.
package struct SessionConfiguration: Sendable {
    /// The longest message of a client, in bytes: a write of 16 MiB, and what is around it.
    package var maxMessageBytes = 17 << 20

    /// The maximum of queued outgoing bytes beside the message that is being sent.
    ///
    /// A client that takes less is disconnected, and is brought up to date when it connects again.
    package var maxPendingBytes = 64 << 20

    /// What may wait to be sent while more is read from the client, in bytes.
    package var maxPendingBytesWhileReading = 1 << 20

    /// The work of a client's requests in line, in that of a put, from which no more is read from it.
    package var maxWork = 1_000

    /// The size of a client's requests in line, in bytes, from which no more is read from it.
    package var maxRequestBytes = 1 << 20

    /// How long a client may be silent; clients send something every 45 seconds.
    package var silence: Duration = .seconds(75)

    package init() {}
}
