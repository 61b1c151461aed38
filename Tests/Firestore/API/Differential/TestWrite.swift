import Larder
import LarderModel
import LarderTestSupport

/// A change of a document in the words of the API, and what it means.
struct TestWrite {
    typealias Fields = [TestField]

    enum Operation {
        case set(Fields)
        case merge(Fields)
        case mergeFields(Fields, [LarderModel.FieldPath])
        case update([(path: LarderModel.FieldPath, data: TestData)])
        case delete
    }

    let path: DocumentPath
    let operation: Operation

    /// the mutation that the call stands for.
    var mutation: Mutation {
        get throws {
            switch operation {
            case .delete: return Mutation(.delete, at: path)
            case .set(let fields):
                return Mutation(
                    .set(try Self.record(fields)), at: path,
                    transforms: TestData.map(fields).transforms(at: []))
            case .merge(let fields):
                return Mutation(
                    .patch(
                        try Self.record(fields), FieldMask(TestData.map(fields).leaves(at: []))),
                    at: path, transforms: TestData.map(fields).transforms(at: []))
            case .mergeFields(let fields, let paths):
                let transforms = TestData.map(fields).transforms(at: []).filter { transform in
                    paths.contains { $0.isPrefix(of: transform.path) }
                }
                let replaced = paths.filter { path in !transforms.contains { $0.path == path } }
                return Mutation(
                    .patch(try Self.record(fields), FieldMask(replaced)), at: path,
                    transforms: transforms)
            case .update(let fields):
                var (map, mask, transforms) = (
                    MapValue(), [LarderModel.FieldPath](), [FieldTransform]()
                )
                for (path, data) in fields {
                    transforms += data.transforms(at: path.segments)
                    if case .transform = data { continue }
                    mask.append(path)
                    if let value = data.value { map.put(value, at: path) }
                }
                return Mutation(
                    .patch(try Record(map), FieldMask(mask)), at: path,
                    precondition: .exists(true), transforms: transforms)
            }
        }
    }

    private static func record(_ fields: Fields) throws -> Record {
        var map = MapValue()
        for field in fields { map[field.name] = field.data.value }
        return try Record(map)
    }

    /// Makes the change by itself.
    func enqueue(in database: Firestore) -> WriteHandle {
        let document = database.document(path.string)
        switch operation {
        case .delete: return document.enqueueDelete()
        case .set(let fields): return document.enqueueSetData(Self.data(fields, database))
        case .merge(let fields):
            return document.enqueueSetData(Self.data(fields, database), merge: true)
        case .mergeFields(let fields, let paths):
            return document.enqueueSetData(
                Self.data(fields, database), mergeFields: Self.names(paths))
        case .update(let fields):
            return document.enqueueUpdateData(Self.data(fields, database))
        }
    }

    /// Adds the change to a batch.
    func add(to batch: WriteBatch, in database: Firestore) {
        let document = database.document(path.string)
        switch operation {
        case .delete: batch.deleteDocument(document)
        case .set(let fields):
            batch.setData(Self.data(fields, database), forDocument: document)
        case .merge(let fields):
            batch.setData(Self.data(fields, database), forDocument: document, merge: true)
        case .mergeFields(let fields, let paths):
            batch.setData(
                Self.data(fields, database), forDocument: document, mergeFields: Self.names(paths))
        case .update(let fields):
            batch.updateData(Self.data(fields, database), forDocument: document)
        }
    }

    /// Adds the change to a bulk writer.
    func add(to writer: BulkWriter, in database: Firestore) -> BulkWrite {
        let document = database.document(path.string)
        switch operation {
        case .delete: return writer.deleteDocument(document)
        case .set(let fields):
            return writer.setData(Self.data(fields, database), forDocument: document)
        case .merge(let fields):
            return writer.setData(Self.data(fields, database), forDocument: document, merge: true)
        case .mergeFields(let fields, let paths):
            return writer.setData(
                Self.data(fields, database), forDocument: document, mergeFields: Self.names(paths))
        case .update(let fields):
            return writer.updateData(Self.data(fields, database), forDocument: document)
        }
    }

    /// Adds the change to a transaction.
    func add(to transaction: Transaction, in database: Firestore) {
        let document = database.document(path.string)
        switch operation {
        case .delete: transaction.deleteDocument(document)
        case .set(let fields):
            transaction.setData(Self.data(fields, database), forDocument: document)
        case .merge(let fields):
            transaction.setData(Self.data(fields, database), forDocument: document, merge: true)
        case .mergeFields(let fields, let paths):
            transaction.setData(
                Self.data(fields, database), forDocument: document, mergeFields: Self.names(paths))
        case .update(let fields):
            transaction.updateData(Self.data(fields, database), forDocument: document)
        }
    }

    private static func data(_ fields: Fields, _ database: Firestore) -> [String: Any] {
        [String: Any](
            fields.map { ($0.name, $0.data.argument(in: database)) }, uniquingKeysWith: { $1 })
    }

    private static func data(
        _ fields: [(path: LarderModel.FieldPath, data: TestData)], _ database: Firestore
    ) -> [AnyHashable: Any] {
        var data: [AnyHashable: Any] = [:]
        for (path, value) in fields { data[path.argument] = value.argument(in: database) }
        return data
    }

    private static func names(_ paths: [LarderModel.FieldPath]) -> [Any] {
        paths.map(\.argument.base)
    }
}

extension LarderModel.FieldPath {
    /// What the API takes: a dotted string where that does, and a path of names otherwise.
    var argument: AnyHashable {
        segments.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7a } })
            ? AnyHashable(segments.joined(separator: ".")) : AnyHashable(Larder.FieldPath(segments))
    }
}

// MARK: - Writes

extension SeededRandom {
    /// A change of a document of any kind.
    mutating func testWrite(at path: DocumentPath) -> TestWrite {
        switch below(12) {
        case 0, 1: return TestWrite(path: path, operation: .delete)
        case 2...5: return TestWrite(path: path, operation: .set(testFields(deletes: false)))
        case 6, 7: return TestWrite(path: path, operation: .merge(testFields(deletes: true)))
        case 8:
            let fields = testFields(deletes: true)
            var paths = fields.filter { _ in oneIn(2) }.map {
                LarderModel.FieldPath(unchecked: [$0.name])
            }
            for field in fields {
                guard case .map(let entries) = field.data, oneIn(2), let entry = entries.first
                else { continue }
                paths.append(LarderModel.FieldPath(unchecked: [field.name, entry.name]))
            }
            return TestWrite(path: path, operation: .mergeFields(fields, paths))
        default:
            var fields: [(path: LarderModel.FieldPath, data: TestData)] = []
            for name in ["a", "b", "c", "tags", "n", "odd.name"] where oneIn(4) {
                fields.append(
                    (LarderModel.FieldPath(unchecked: [name]), testEntry(deletes: oneIn(3))))
            }
            switch below(4) {
            case 0:
                fields.append(
                    (LarderModel.FieldPath(unchecked: ["m", "x"]), testEntry(deletes: oneIn(3))))
            case 1:
                fields.append(
                    (LarderModel.FieldPath(unchecked: ["m", "y", "z"]), testEntry(deletes: true)))
            case 2:
                fields.append(
                    (LarderModel.FieldPath(unchecked: ["m"]), testMap(deletes: false, depth: 2)))
            default: break
            }
            return TestWrite(path: path, operation: .update(fields))
        }
    }

    private mutating func testFields(deletes: Bool) -> TestWrite.Fields {
        var fields = planningFields().map { TestField(name: $0.name, data: .value($0.value)) }
        if oneIn(3) {
            fields.removeAll { $0.name == "m" }
            fields.append(TestField(name: "m", data: testMap(deletes: deletes, depth: 2)))
        }
        if oneIn(3) {
            let name = pick(["a", "b", "tags", "n", "odd.name", "é"])
            fields.removeAll { $0.name == name }
            fields.append(TestField(name: name, data: testEntry(deletes: deletes)))
        }
        return fields
    }

    private mutating func testMap(deletes: Bool, depth: Int) -> TestData {
        .map(
            ["x", "y", "z", "e\u{301}"].filter { _ in oneIn(3) }.map { name in
                TestField(
                    name: name,
                    data: depth > 0 && oneIn(3)
                        ? testMap(deletes: deletes, depth: depth - 1) : testEntry(deletes: deletes))
            })
    }

    private mutating func testEntry(deletes: Bool) -> TestData {
        switch below(6) {
        case 0 where deletes: .delete
        case 1, 2: .transform(testTransform())
        case 3: .value(testValue())
        default: .value(planningValue())
        }
    }

    /// A value of one of the types that queries of these tests seldom compare with.
    private mutating func testValue() -> Value {
        switch below(6) {
        case 0: .geoPoint(geoPoint())
        case 1: .vector(VectorValue([1, Double(below(3))]))
        case 2:
            .reference(
                ResourceName("projects/demo-larder/databases/(default)/documents/rooms/\(below(3))")
            )
        case 3: .map(["k": .array([.map(["l": .integer(Int64(below(3)))]), .null])])
        case 4: .map([:])
        default: .array([])
        }
    }

    private mutating func testTransform() -> FieldTransform.Operation {
        switch below(8) {
        case 0, 1: .serverTimestamp
        case 2: .arrayUnion((0...below(3)).map { _ in planningElement() })
        case 3: .arrayRemove((0...below(3)).map { _ in planningElement() })
        case 4: .minimum(oneIn(2) ? .integer(Int64(below(4))) : .double(Double(below(8)) / 2))
        case 5: .maximum(oneIn(2) ? .integer(Int64(below(4))) : .double(Double(below(8)) / 2))
        default: .increment(oneIn(2) ? .integer(Int64(below(4))) : .double(Double(below(8)) / 2))
        }
    }
}
