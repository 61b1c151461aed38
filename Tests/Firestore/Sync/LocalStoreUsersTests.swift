import LarderDocumentStore
import LarderModel
import LarderSync
import Testing

@Suite("Local store: another user")
struct LocalStoreUsersTests {
    private let fixture: LocalStoreFixture
    private let bob: LocalStore

    init() throws {
        fixture = try LocalStoreFixture()
        bob = LocalStoreFixture.local(fixture.store, "bob")
    }

    @Test("What either user has pending changes, each document once")
    func differing() throws {
        try fixture.learn("c/a", ["x": 1], at: 1)
        try fixture.write(.update("c/a", ["x": 2]), .set("c/b", [:]))
        try fixture.write(.update("c/a", ["x": 3]))
        _ = try bob.write([fixture.pending([.set("c/d", [:]), .update("c/a", ["x": 4])])])
        let changes = try fixture.local.changes(whenUserBecomes: bob.user)
        #expect(changes.map(\.path.string) == ["c/a", "c/b", "c/d"])
        #expect(changes[0].before?.fields == ["x": 3] && changes[0].after?.fields == ["x": 4])
        #expect(changes[1].before?.exists == true && changes[1].after == nil)
        #expect(changes[2].before == nil && changes[2].after?.exists == true)
    }

    @Test("what both users see alike is no change; a user without writes sees the cache")
    func alike() throws {
        try fixture.learn("c/a", ["x": 1], at: 1)
        try fixture.write(.set("c/a", ["x": 2]))
        _ = try bob.write([fixture.pending([.set("c/a", ["x": 2])])])
        #expect(try fixture.local.changes(whenUserBecomes: bob.user).isEmpty)
        let changes = try fixture.local.changes(whenUserBecomes: .unauthenticated)
        #expect(changes.map { $0.after?.fields } == [["x": 1]])
        #expect(try fixture.local.changes(whenUserBecomes: fixture.local.user).isEmpty)
    }

    @Test("A disk that fails is an error")
    func guarding() throws {
        #expect(throws: LarderError.self) {
            try fixture.local(refusing: .changeUser).changes(whenUserBecomes: bob.user)
        }
    }
}
