import Foundation
import LarderCore
import LarderRuntime
import LarderSharedTestSupport
import Testing

@Suite("Locks of the clients of a store")
struct ClientLocksTests {
    @Test("A lock is held by one client, until it is released or its client has ended")
    func exclusion() throws {
        let directory = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: directory.file("owner.lock")))
        func client() throws -> FileLocks {
            try FileLocks(directory: directory.path, errorDomain: LarderError.sharedDomain)
        }
        var one: FileLocks? = try client()
        let two = try client()
        #expect(one?.acquire(1) == true)
        #expect(one?.acquire(2) == true)
        #expect(!two.acquire(1))
        #expect(two.isHeldByOther(1))
        #expect(one?.isHeldByOther(1) == false)
        #expect(!two.isHeldByOther(3))
        one?.release(1)
        #expect(!two.isHeldByOther(1))
        #expect(two.acquire(1))
        one = nil
        #expect(two.acquire(2))
    }

    @Test("A directory without a store has no locks")
    func missing() throws {
        let directory = try TemporaryDirectory()
        #expect(throws: LarderError.self) {
            try FileLocks(directory: directory.path, errorDomain: LarderError.sharedDomain)
        }
    }
}
