/// A batch that has entered the queue.
package struct WrittenBatch: Sendable {
    /// The batch's id; 0 for a write without mutations, which never enters the queue.
    package let id: Int64
    /// Every document that the batch names, once, also where its view stayed the same.
    package let changes: [LocalViewChange]
}
