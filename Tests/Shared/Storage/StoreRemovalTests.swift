import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Removing a store")
struct StoreRemovalTests {
    @Test("A closed store goes with its files; a directory with other files stays")
    func removes() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        let store = try Store(directory: path)
        try store.close()
        try Store.remove(directory: path)
        #expect(!FileManager.default.fileExists(atPath: path))
        try Store.remove(directory: path)

        _ = try Store(directory: path)
        try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/note"))
        try Store.remove(directory: path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["note"])
    }

    @Test("A store that is open is not removed")
    func refusesOpenStore() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        let store = try Store(directory: path)
        let error = #expect(throws: LarderError.self) { try Store.remove(directory: path) }
        #expect(error?.condition == .alreadyOpen)
        try store.close()
    }

    @Test("A damaged store is removed, a foreign file is not")
    func removesDamage() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/store"
        try Store(directory: path).close()
        let file = path + "/data.mdb"
        let size = try #require(
            try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
        try Data(repeating: 0x55, count: size).write(to: URL(fileURLWithPath: file))
        let outcome = Result { try Store.remove(directory: path) }
        let isThere = FileManager.default.fileExists(atPath: file)
        switch outcome {
        case .success: #expect(!isThere)
        case .failure(let error):
            #expect((error as? LarderError)?.condition == .foreignFile && isThere)
        }
    }
}
