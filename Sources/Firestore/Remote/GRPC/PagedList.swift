import LarderModel

/// A list that a server sends in pages.
struct PagedList<Entry: Sendable>: Sendable {
    /// The maximum number of successive pages without an entry.
    var maxEmptyPages = 100
    /// The maximum size of all entries in bytes.
    var maxBytes = 256 << 20
    /// The approximate size of an entry in bytes.
    let sizeBytes: @Sendable (Entry) -> Int

    /// The entries of all pages.
    ///
    /// - Parameter page: requests the page after a token, empty for the first.
    /// - Throws: `internal` for pages that repeat a token or have no entries, as of a server that
    ///   never ends the list; `resourceExhausted` for a list that is too large.
    func entries(
        _ page: (String) async throws(LarderError) -> (entries: [Entry], next: String)
    ) async throws(LarderError) -> [Entry] {
        var entries: [Entry] = []
        var (token, emptyCount, bytes) = ("", 0, 0)
        repeat {
            let (found, next) = try await page(token)
            guard next.isEmpty || next != token else {
                throw LarderError(.internal, "a page of a list is followed by itself")
            }
            emptyCount = found.isEmpty ? emptyCount + 1 : 0
            guard emptyCount <= maxEmptyPages else {
                throw LarderError(.internal, "\(emptyCount) pages of a list are empty")
            }
            bytes += found.reduce(0) { $0 + sizeBytes($1) }
            guard bytes <= maxBytes else {
                throw LarderError(
                    .resourceExhausted,
                    "the names of a list have more than \(maxBytes) bytes; use queries with limits")
            }
            entries += found
            token = next
        } while !token.isEmpty
        return entries
    }
}
