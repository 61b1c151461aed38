import LarderModel
import LarderSync
import Testing

@Suite("Changes of the local view")
struct LocalViewChangeTests {
    @Test("A change of something unknown has neither side")
    func empty() throws {
        let change = LocalViewChange(path: try DocumentPath("a/b"), before: nil, after: nil)
        #expect(change.before == nil && change.after == nil)
    }
}
