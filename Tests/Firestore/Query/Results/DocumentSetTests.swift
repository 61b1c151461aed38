import Foundation
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@Suite("Sets of documents")
struct DocumentSetTests {
    private func comparator(isDescending: Bool = false) throws -> DocumentComparator {
        DocumentComparator(
            orders: Query(
                .collection(try CollectionPath("c")),
                orders: [Order(try FieldPath("n"), isDescending: isDescending)]
            ).orders)
    }

    /// The orders of sets: by a field and then by name, or by name alone.
    enum SetOrder: CaseIterable {
        case field, fieldDescending, name, nameDescending

        func comparator() throws -> DocumentComparator {
            let n = try FieldPath("n")
            let orders =
                switch self {
                case .field: [Order(n), Order(.documentID)]
                case .fieldDescending:
                    [Order(n, isDescending: true), Order(.documentID, isDescending: true)]
                case .name: [Order(.documentID)]
                case .nameDescending: [Order(.documentID, isDescending: true)]
                }
            return DocumentComparator(orders: orders)
        }
    }

    private func document(_ id: Int, _ n: Int) throws -> Document {
        try .test("d\(id)", ["n": .integer(Int64(n))])
    }

    @Test("An empty set has nothing")
    func empty() throws {
        var set = DocumentSet(comparator: try comparator())
        #expect(set.isEmpty && set.first == nil && set.last == nil && set.isSound)
        #expect(set.remove(try DocumentPath("c/x")) == nil)
        #expect(set.index(of: try DocumentPath("c/x")) == nil)
    }

    @Test("Documents lie in the order of the comparator, either way, then by name")
    func order() throws {
        let documents = try [document(1, 5), document(2, 3), document(3, 5), document(4, 9)]
        let up = DocumentSet(documents, comparator: try comparator())
        #expect(up.map(\.id) == ["d2", "d1", "d3", "d4"])
        let down = DocumentSet(documents, comparator: try comparator(isDescending: true))
        #expect(down.map(\.id) == ["d4", "d3", "d1", "d2"])
        #expect(up.isSound && down.isSound)
    }

    @Test("Of two documents with one path the later one stays")
    func duplicates() throws {
        let documents = try [document(1, 1), document(2, 2), document(1, 3)]
        let set = DocumentSet(documents, comparator: try comparator())
        #expect(set.map(\.id) == ["d2", "d1"])
        #expect(set.isSound)
        let inOrder = try DocumentSet(
            [document(1, 1), document(1, 1)], comparator: try comparator())
        #expect(inOrder.count == 1 && inOrder.isSound)
    }

    @Test("The paths of a set are those of its documents, and of those with local writes")
    func paths() throws {
        let documents = try ["c", "a", "b"].map { try Document.test($0, isPending: $0 != "a") }
        var set = DocumentSet(
            documents, comparator: DocumentComparator(orders: [Order(.documentID)]))
        var visited: [String] = []
        set.forEachPath { visited.append($0.id) }
        #expect(visited == ["a", "b", "c"])
        #expect(set.pathsWithLocalMutations.map(\.id) == ["b", "c"])
        #expect(Set(set.paths) == Set(documents.map(\.path)))
        set.remove(documents[0].path)
        #expect(Set(set.paths.map(\.id)) == ["a", "b"])
    }

    @Test("Sets are equal when documents and order are")
    func equality() throws {
        let documents = try (0..<40).map { try document($0, $0) }
        let bulk = DocumentSet(documents, comparator: try comparator())
        var single = DocumentSet(comparator: try comparator())
        for document in documents.reversed() { single.insert(document) }
        #expect(bulk == single)
        single.insert(try document(7, 8))
        #expect(bulk != single)
    }

    @Test(
        "Random changes agree with a sorted array, and copies taken before stay as they were",
        arguments: SetOrder.allCases)
    func random(order: SetOrder) throws {
        var random = SeededRandom()
        let comparator = try order.comparator()
        var set = DocumentSet(comparator: comparator)
        var model: [Document] = []
        var copies: [(set: DocumentSet, model: [Document])] = []
        for step in 0..<3_000 {
            let id = random.below(300)
            let path = try DocumentPath("c/d\(id)")
            // Grows, then shrinks.
            if random.below(3_000) > step {
                let new = try document(id, random.below(50))
                let replaced = set.insert(new)
                #expect(replaced == model.first { $0.path == path }, "\(random)")
                model.removeAll { $0.path == path }
                let place = model.firstIndex { comparator.compare(new, $0) == .orderedAscending }
                model.insert(new, at: place ?? model.count)
            } else {
                let removed = set.remove(path)
                #expect(removed == model.first { $0.path == path }, "\(random)")
                model.removeAll { $0.path == path }
            }
            #expect(set.index(of: path) == model.firstIndex { $0.path == path }, "\(random)")
            #expect(set.document(at: path) == model.first { $0.path == path }, "\(random)")
            #expect(set.contains(path) == model.contains { $0.path == path }, "\(random)")
            if step % 100 == 0 {
                #expect(set.isSound, "\(random)")
                copies.append((set, model))
            }
        }
        for copy in copies {
            #expect(copy.set.elementsEqual(copy.model), "\(random)")
            #expect(copy.set.indices.map { copy.set[$0] } == copy.model, "\(random)")
            #expect(copy.set.isSound, "\(random)")
        }
    }

    @Test(
        "Many changes in one pass equal the same changes one by one, and do not affect copies",
        arguments: SetOrder.allCases)
    func manyChanges(order: SetOrder) throws {
        var random = SeededRandom()
        var set = DocumentSet(comparator: try order.comparator())
        for _ in 0..<50 {
            let (former, before) = (set, Array(set))
            var oneByOne = set
            var changes: [(path: DocumentPath, new: Document?)] = []
            // Few and many, of documents that are near each other or anywhere.
            let (start, span) = (random.below(400), random.oneIn(2) ? 40 : 600)
            for id in Set(
                (0..<random.below(random.oneIn(3) ? 300 : 6)).map { _ in
                    start + random.below(span)
                }
            ).sorted() {
                let path = try DocumentPath("c/d\(id)")
                let new = random.oneIn(3) ? nil : try document(id, random.below(50))
                changes.append((path, new))
                if let new { oneByOne.insert(new) } else { oneByOne.remove(path) }
            }
            changes.shuffle(using: &random)
            set.apply(changes.map { (set.place(of: $0.path), $0.new) })
            #expect(set.isSound, "\(random)")
            #expect(set.elementsEqual(oneByOne), "\(random)")
            #expect(former.elementsEqual(before) && former.isSound, "\(random)")
        }
    }

    @Test(
        "Random batches agree with a sorted array, from no documents to thousands and back",
        arguments: SetOrder.allCases)
    func batches(order: SetOrder) throws {
        var random = SeededRandom()
        let comparator = try order.comparator()
        var set = DocumentSet(comparator: comparator)
        var model: [Document] = []
        var copies: [(set: DocumentSet, model: [Document])] = []
        // Removals are rare, the rule, and in between, so that the set grows and shrinks.
        for removals in [0.1, 0.9, 0.3, 1] {
            for size in [1, 2_000, 30, 2, 300, 0, 2_000] {
                copies.append((set, model))
                // Anywhere, or near each other.
                let (start, span) = (random.below(2_000), random.oneIn(2) ? 4_000 : 2 * size + 1)
                var changes: [DocumentPath: Document?] = [:]
                for _ in 0..<size {
                    let id = start + random.below(span)
                    let new = try document(id, random.below(500))
                    let isRemoved = Double(random.below(100)) < removals * 100
                    changes.updateValue(isRemoved ? nil : new, forKey: new.path)
                }
                if removals == 1, size == 2_000 {
                    for document in model { changes.updateValue(nil, forKey: document.path) }
                }
                for path in changes.keys.prefix(50) {
                    let index = set.index(of: path)
                    #expect(set.place(of: path).document == index.map { model[$0] }, "\(random)")
                }
                set.apply(changes.map { (set.place(of: $0.key), $0.value) })
                model.removeAll { changes[$0.path] != nil }
                model.append(contentsOf: changes.values.compactMap(\.self))
                model.sort { comparator.compare($0, $1) == .orderedAscending }
                #expect(set.elementsEqual(model) && set.isSound, "\(random)")
            }
        }
        #expect(set.isEmpty && copies.contains { $0.set.count > 2_000 })
        for copy in copies {
            #expect(copy.set.elementsEqual(copy.model), "\(random)")
        }
    }

    @Test("Sets of documents in order are sound, and stay so when documents leave at either end")
    func sizes() throws {
        for order in SetOrder.allCases {
            let comparator = try order.comparator()
            for count in [0, 1, 2, 24, 31, 32, 33, 64, 65, 150, 800] {
                var set = DocumentSet(
                    try (0..<count).map { try document($0, $0) }, comparator: comparator)
                #expect(set.isSound && set.count == count)
                while let first = set.first, let last = set.last {
                    set.remove((count.isMultiple(of: 2) ? first : last).path)
                    if set.count.isMultiple(of: 20) { #expect(set.isSound) }
                }
                #expect(set.isSound && set.isEmpty)
            }
        }
    }

    @Test("Insertions in order keep the tree balanced")
    func balance() throws {
        var set = DocumentSet(comparator: try comparator())
        for n in 0..<2_000 { set.insert(try document(n, n)) }
        #expect(set.isSound && set.count == 2_000)
        for n in 0..<1_900 { set.remove(try DocumentPath("c/d\(n)")) }
        #expect(set.isSound && set.map(\.id) == (1_900..<2_000).map { "d\($0)" })
    }
}
