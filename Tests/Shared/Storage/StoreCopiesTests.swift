import Foundation
import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Copies")
struct StoreCopiesTests {
    private let directory: TemporaryDirectory
    private let store: Store

    init() throws {
        directory = try TemporaryDirectory()
        store = try Store(directory: directory.file("s"))
        try store.write { transaction throws in
            for number in 0..<500 {
                try transaction.put(
                    Record(["n": .integer(Int64(number)), "t": .string("text \(number)")]),
                    at: DocumentPath("c/\(number)"), version: .at(1))
            }
        }
    }

    private func documents(_ store: Store) throws -> [Document] {
        try store.read { try $0.allDocuments(in: .collection(CollectionPath("c"))) }
    }

    @Test("a copy and a compacted copy have the same documents and are clean")
    func copies() throws {
        var steps = 0
        try store.copy(to: directory.file("copy")) { progress in
            #expect(progress.done >= 0)
            steps += 1
            return .continue
        }
        #expect(steps > 0)
        try store.compact(to: directory.file("compact"))
        for name in ["copy", "compact"] {
            let copy = try Store(directory: directory.file(name))
            #expect(try documents(copy) == documents(store))
            #expect(try copy.check().isClean)
        }
    }

    @Test("a directory that holds something is not written to")
    func occupiedDirectory() throws {
        #expect(throws: LarderError.self) { try store.copy(to: directory.path) }
        #expect(throws: LarderError.self) { try store.compact(to: directory.path) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["s"])
    }

    @Test("progress may stop a copy")
    func stopping() throws {
        for compacts in [false, true] {
            let target = directory.file("stopped-\(compacts)")
            let error = #expect(throws: LarderError.self) {
                if compacts {
                    try store.compact(to: target) { _ in .stop }
                } else {
                    try store.copy(to: target) { _ in .stop }
                }
            }
            #expect(error?.kind == .cancelled)
            #expect(error?.condition == .stopped)
        }
    }
}
