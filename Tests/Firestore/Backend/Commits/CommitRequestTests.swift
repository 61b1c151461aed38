import LarderModel
import Testing

@Suite("Backend: validation of requests")
struct CommitRequestTests {
    private func code(_ mutation: Mutation) throws -> LarderError.Code? {
        let backend = try TestBackend()
        return LarderSyncTests.code { try backend.commit(mutation) }
    }

    private func nested(_ depth: Int) -> Value {
        depth == 0 ? 1 : .map(["m": nested(depth - 1)])
    }

    @Test("A document of more than 1 MiB")
    func size() throws {
        let text = { (count: Int) in Value.string(String(repeating: "x", count: count)) }
        #expect(try code(.set("c/a", ["t": text(1_000_000)])) == nil)
        #expect(try code(.set("c/a", ["t": text(1_048_576)])) == .invalidArgument)
    }

    @Test("A request of more than 10 MiB")
    func requestSize() throws {
        let backend = try TestBackend()
        let text = Value.string(String(repeating: "x", count: 1_000_000))
        let mutations = try (0..<11).map { try Mutation.set("c/d\($0)", ["t": text]) }
        #expect(LarderSyncTests.code { try backend.commit(mutations) } == .invalidArgument)
        try backend.commit(Array(mutations.prefix(10)))
    }

    @Test("A document that patches and transforms make too large or too deep")
    func growth() throws {
        let backend = try TestBackend()
        let half = Value.string(String(repeating: "x", count: 600_000))
        try backend.commit(.set("c/a", ["t": half, "m": nested(18)]))
        let path = Array(repeating: "m", count: 19) + ["n"]
        let deep = FieldTransform(try FieldPath(path), .arrayUnion([.map(["p": ["q": 1]])]))
        #expect(
            LarderSyncTests.code { try backend.commit(.patch("c/a", ["u": half])) }
                == .invalidArgument)
        #expect(
            LarderSyncTests.code {
                try backend.commit(.patch("c/a", [:], transforms: [deep]))
            } == .invalidArgument)
        #expect(try backend.fields("c/a")?.count == 2)
    }

    @Test("Maps and arrays nested more than 20 deep")
    func depth() throws {
        #expect(try code(.set("c/a", ["v": nested(19)])) == nil)
        #expect(try code(.set("c/a", ["v": nested(21)])) == .invalidArgument)
    }

    @Test("Reserved field names, in fields, masks and transforms")
    func names() throws {
        #expect(try code(.set("c/a", ["__a__": 1])) == .invalidArgument)
        #expect(try code(.set("c/a", ["m": ["__a__": 1]])) == .invalidArgument)
        #expect(try code(.set("c/a", ["l": [["__a__": 1]]])) == .invalidArgument)
        #expect(try code(.patch("c/a", [:], mask: ["__a__"])) == .invalidArgument)
        #expect(
            try code(
                .patch("c/a", [:], transforms: [.init("__a__", .serverTimestamp)]))
                == .invalidArgument)
        #expect(try code(.set("c/a", ["__a": 1, "a__": 1, "__": 1, "___": 1, "____": 1])) == nil)
    }

    @Test("Server timestamps that are pending, and arrays in arrays")
    func values() throws {
        let time = Timestamp(seconds: 1, nanoseconds: 0)
        let pending = Value.serverTimestamp(PendingServerTimestamp(localWriteTime: time))
        #expect(try code(.set("c/a", ["v": pending])) == .invalidArgument)
        #expect(try code(.set("c/a", ["m": ["v": pending]])) == .invalidArgument)
        #expect(try code(.set("c/a", ["l": [[1]]])) == .invalidArgument)
        #expect(try code(.set("c/a", ["l": [["l": [1]]]])) == nil)
        #expect(
            try code(
                .patch("c/a", [:], transforms: [.init("l", .arrayUnion([pending]))]))
                == .invalidArgument)
    }

    @Test("Transforms with operands that are not numbers, and transforms of a delete")
    func transforms() throws {
        #expect(
            try code(.patch("c/a", [:], transforms: [.init("n", .increment("1"))]))
                == .invalidArgument)
        let delete = Mutation(
            .delete, at: try DocumentPath("c/a"), transforms: [try .init("n", .serverTimestamp)])
        #expect(try code(delete) == .invalidArgument)
    }

    @Test("A transform of a field and one of a field inside it; not two of one field")
    func transformedFields() throws {
        func code(_ paths: String...) throws -> LarderError.Code? {
            let transforms = try paths.map {
                FieldTransform(try FieldPath(dotted: $0), .increment(1))
            }
            return try self.code(.patch("c/a", [:], transforms: transforms))
        }
        for paths in [
            ["a", "a.b"], ["a.b", "a"], ["a", "b", "a-", "a.b.c"], ["a.b", "a.b.c", "a.b"],
        ] {
            let error = #expect(throws: LarderError.self) {
                let transforms = try paths.map {
                    FieldTransform(try FieldPath(dotted: $0), .increment(1))
                }
                _ = try TestBackend().commit(.patch("c/a", [:], transforms: transforms))
            }
            #expect(error?.message.contains("and its nested property at the same time.") == true)
        }
        #expect(try code("a", "a") == nil)
        #expect(try code("a.b", "a.c", "a-") == nil)
        #expect(try code("n.b", "n.bc", "n") == .invalidArgument)
    }

    @Test("vectors are those of the service: of 1 to 2,048 numbers, and in no array")
    func vectors() throws {
        func message(_ value: Value) throws -> String? {
            do {
                _ = try TestBackend().commit(.set("c/a", ["v": value]))
                return nil
            } catch let error as LarderError {
                #expect(error.kind == .invalidArgument)
                return error.message
            }
        }
        func vector(_ components: [Double]) -> Value { .vector(VectorValue(components)) }
        let largest = vector([Double](repeating: 1, count: 2_048))
        #expect(try message(largest) == nil)
        #expect(try message(vector([-.infinity])) == nil)
        #expect(try message(.map(["m": vector([1])])) == nil)
        #expect(try message(.array([.map(["m": vector([1])])])) == nil)
        #expect(try message(vector([]))?.contains("zero length vector") == true)
        let longer = vector([Double](repeating: 1, count: 2_049))
        #expect(try message(longer)?.contains("at most 2048 dimensions") == true)
        #expect(try message(.map(["m": vector([1, .nan])]))?.contains("NaN") == true)
        #expect(try message(.array([vector([1])]))?.contains("in an array") == true)
    }
}
