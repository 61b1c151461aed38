import LarderModel
import LarderTestSupport

extension SeededRandom {
    /// A change of a document of any kind.
    mutating func testWrite(at path: DocumentPath) -> TestWrite {
        switch below(12) {
        case 0, 1: return TestWrite(path: path, operation: .delete)
        case 2...5: return TestWrite(path: path, operation: .set(testFields(deletes: false)))
        case 6, 7: return TestWrite(path: path, operation: .merge(testFields(deletes: true)))
        case 8:
            let fields = testFields(deletes: true)
            var paths = fields.filter { _ in oneIn(2) }.map { FieldPath(unchecked: [$0.name]) }
            for field in fields {
                guard case .map(let entries) = field.data, oneIn(2), let entry = entries.first
                else { continue }
                paths.append(FieldPath(unchecked: [field.name, entry.name]))
            }
            return TestWrite(path: path, operation: .mergeFields(fields, paths))
        default:
            var fields: [(path: FieldPath, data: TestData)] = []
            for name in ["a", "b", "c", "tags", "n", "odd.name"] where oneIn(4) {
                fields.append((FieldPath(unchecked: [name]), testEntry(deletes: oneIn(3))))
            }
            switch below(4) {
            case 0: fields.append((FieldPath(unchecked: ["m", "x"]), testEntry(deletes: oneIn(3))))
            case 1:
                fields.append((FieldPath(unchecked: ["m", "y", "z"]), testEntry(deletes: true)))
            case 2: fields.append((FieldPath(unchecked: ["m"]), testMap(deletes: false, depth: 2)))
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
