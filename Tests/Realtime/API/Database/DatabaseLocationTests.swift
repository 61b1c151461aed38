import LarderCore
import LarderRealtimeModel
import Testing

@testable import LarderRealtime

@Suite("Addresses of databases")
struct DatabaseLocationTests {
    private func location(_ url: String) throws -> DatabaseLocation {
        try DatabaseLocation.parse(url).location
    }

    @Test("The namespace and the encryption follow from the URL")
    func namespaces() throws {
        let cloud = try location("https://Game.firebaseio.com/a/b")
        #expect(cloud.host == "game.firebaseio.com" && cloud.namespace == "game")
        #expect(cloud.isEncrypted)
        let regional = try location("https://game.europe-west1.firebasedatabase.app")
        #expect(regional.namespace == "game" && regional.isEncrypted)
        let local = try location("http://localhost:9000/?ns=game")
        #expect(local.host == "localhost:9000" && local.namespace == "game")
        #expect(!local.isEncrypted)
        #expect(try location("localhost:9000").namespace == "localhost")
        #expect(try location("https://localhost:9000?ns=a").isEncrypted)
        #expect(try location("game.firebaseio.com").isEncrypted)
        #expect(try location("http://[::1]:9000?ns=game").host == "[::1]:9000")
    }

    @Test("Malformed URLs are errors")
    func malformed() {
        for url in ["", "https://", "http:///a", "?ns=a", "https://.com"] {
            #expect(throws: LarderError.self, "\(url)") { try DatabaseLocation.parse(url) }
        }
        #expect(throws: LarderError.self) { try DatabaseLocation(url: "https://a.b.com/c") }
        #expect(throws: Never.self) { try DatabaseLocation(url: "https://a.b.com/") }
    }

    @Test("Paths are decoded; broken encoding stays as it is")
    func paths() throws {
        #expect(try DatabaseLocation.parse("https://a.b.com/x+y/%C3%BC").path == "x y/ü")
        #expect(try DatabaseLocation.parse("https://a.b.com/100%").path == "100%")
    }

    @Test("URLs of emulators name the database")
    func emulators() {
        let local = DatabaseLocation(project: "game").onEmulator(host: "::1", port: 9000)
        #expect(local.url(of: TreePath("a")) == "http://[::1]:9000/a?ns=game-default-rtdb")
    }
}
