import Foundation
import LarderModel
import LarderQuery
import LarderRemote
import Testing

@Suite("The vocabulary of the specification tests")
struct VocabularyTests {
    private func node(_ json: String) throws -> SpecNode {
        SpecNode(try JSONValue(parsing: Data(json.utf8)), at: "test")
    }

    @Test("Every file is read, with nothing in it that is unknown")
    func readsAllFiles() throws {
        guard let directory = SpecSuite.directory else { return }
        for file in try SpecSuite.files(in: directory) {
            #expect(throws: Never.self, "\(file.lastPathComponent)") {
                let suite = try SpecSuite(file: file)
                #expect(!suite.tests.isEmpty)
            }
        }
    }

    @Test("true is not 1, and numbers keep their kind")
    func tellsKindsApart() throws {
        let values = try JSONValue(parsing: Data(#"[true, 1, 0, 1.5, "1", null, [], {}]"#.utf8))
        #expect(
            values
                == .array([
                    .bool(true), .integer(1), .integer(0), .double(1.5), .string("1"), .null,
                    .array([]), .object([:]),
                ]))
    }

    @Test("Whatever is unknown is named")
    func namesTheUnknown() throws {
        let steps = [
            #"{"userDelete": "a/b", "expectedColour": "red"}"#: "expectedColour",
            #"{"userFly": "a/b"}"#: "userFly",
            #"{"runTimer": "lunch"}"#: "lunch",
            #"{"failDatabase": ["Paint"]}"#: "Paint",
            #"{"watchEntity": {"key": "a/b", "removedTargets": [], "size": 1}}"#: "size",
            #"{"drainQueue": true, "expectedState": {"mood": 1}}"#: "mood",
            #"{"userUnlisten": [2, {"path": "a", "filters": [["f", "~", 1]]}]}"#: "~",
        ]
        for (json, name) in steps {
            let node = try node(json)
            let error = #expect(throws: SpecVocabularyError.self) { _ = try SpecStep(node) }
            #expect(error?.message.contains(name) == true)
        }
    }

    @Test("Every member of a step is an action, even with the value false or null")
    func dispatchesByPresence() throws {
        guard case .enableNetwork(false) = try SpecStep(node(#"{"enableNetwork": false}"#)).action,
            case .changeUser("") = try SpecStep(node(#"{"changeUser": null}"#)).action,
            case .failDatabase([]) = try SpecStep(node(#"{"failDatabase": false}"#)).action
        else {
            Issue.record("a payload was taken for none")
            return
        }
    }

    @Test("Versions are microseconds, and documents with local changes have none")
    func readsVersions() throws {
        #expect(
            try node("300001000").version()
                == SnapshotVersion(Timestamp(seconds: 300, nanoseconds: 1_000_000)))
        let document = try SpecDocument(
            node(
                #"{"key": "a/b", "version": 7, "value": {"n": 1}, "options": {"hasLocalMutations": true}}"#
            )
        ).document
        #expect(document.version == .none && document.hasLocalMutations)
        #expect(document.fields == ["n": .integer(1)])
    }

    @Test("A patch has the mask of its keys, and its record omits deleted fields")
    func readsPatches() throws {
        let patch = try node(#"["a/b", {"a.c": "<DELETE>", "v.w": 2, "v.x": 3}]"#).patch()
        let paths = try ["a.c", "v.w", "v.x"].map { try FieldPath(dotted: $0) }
        guard case .patch(let record, let mask) = patch.operation else {
            Issue.record("not a patch")
            return
        }
        #expect(mask == FieldMask(paths))
        #expect(record.fields == ["v": .map(["w": .integer(2), "x": .integer(3)])])
        #expect(patch.precondition == .exists(true))
    }

    @Test("A query is built from its parts")
    func readsQueries() throws {
        let query = try node(
            #"{"path": "c", "limit": 2, "limitType": "LimitToLast", "filters": [["a.b", ">=", 1]], "orderBys": [["a.b", "desc"]]}"#
        ).query()
        let path = try FieldPath(dotted: "a.b")
        #expect(
            query
                == Query(
                    .collection(try CollectionPath("c")),
                    filters: [.field(FieldFilter(path, .greaterThanOrEqual, .integer(1)))],
                    orders: [Order(path, isDescending: true)], limit: .last(2)))
        #expect(
            try node(#"{"path": "", "collectionGroup": "c"}"#).query().source == .group("c"))
        #expect(
            try node(#""c/d""#).query().source == .document(try DocumentPath("c/d")))
    }

    @Test("A bitmap that is not base 64 makes no bloom filter; missing numbers are 0")
    func readsBloomFilters() throws {
        let json = #"{"targetIds": [2], "keys": ["a/b"], "bloomFilter": {"bits": {"bitmap": "X"}}}"#
        guard case .existenceFilter(2, 1, nil) = try node(json).existenceFilter(),
            case .existenceFilter(_, _, let bits?) = try node(
                json.replacingOccurrences(of: #""X""#, with: #""CQ==""#)
            ).existenceFilter()
        else {
            Issue.record("not the filter that was written")
            return
        }
        #expect(bits == BloomFilterBits(bitmap: [9], padding: 0, hashCount: 0))
    }
}
