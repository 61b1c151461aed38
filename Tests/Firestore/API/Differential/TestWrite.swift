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

    /// 3.1: the mutation that the call stands for.
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
                return Mutation(
                    .patch(try Self.record(fields), FieldMask(paths)), at: path,
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
