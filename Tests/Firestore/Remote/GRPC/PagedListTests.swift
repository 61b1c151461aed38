import LarderModel
import Testing

@testable import LarderGRPC

@Suite("Lists in pages")
struct PagedListTests {
    private let list = PagedList<String>(maxEmptyPages: 2, maxBytes: 10) { $0.utf8.count }

    /// The entries of pages; the last page is followed by the end.
    private func entries(_ pages: [[String]]) async throws -> [String] {
        try await list.entries { (token) throws(LarderError) in
            let number = Int(token) ?? 0
            return (pages[number], number + 1 < pages.count ? "\(number + 1)" : "")
        }
    }

    @Test("are put together, also over some empty pages")
    func pages() async throws {
        #expect(try await entries([[]]) == [])
        #expect(
            try await entries([["a"], [], [], ["b", "c"], [], []]) == ["a", "b", "c"])
    }

    @Test("that never end are given up")
    func endless() async throws {
        let repeated = await #expect(throws: LarderError.self) {
            try await list.entries { _ throws(LarderError) in (["a"], "1") }
        }
        #expect(repeated?.kind == .internal)
        let empty = await #expect(throws: LarderError.self) {
            try await list.entries { token throws(LarderError) in ([], token + "1") }
        }
        #expect(empty?.kind == .internal)
        let full = await #expect(throws: LarderError.self) {
            try await list.entries { token throws(LarderError) in (["abc"], token + "1") }
        }
        #expect(full?.kind == .resourceExhausted)
    }
}
