import LarderModel
import LarderWire
import Testing

@Suite("Names of a database's resources")
struct DatabaseNamesTests {
    private let id = DatabaseID(project: "p", database: "d")

    @Test("Those are of a database that are read as names of it")
    func include() {
        let names = DatabaseNames(id)
        let parts = ["projects", "p", "databases", "d", "documents", "c", "é", ""]
        let others = ["project", "P", "q", "databases2", "e", "document", "documents2", "dd"]
        var seen = Set<Bool>()
        for count in 0...parts.count {
            let name = parts.prefix(count).joined(separator: "/")
            let changed = others.flatMap { other in
                (0..<count).map { place in
                    (parts.prefix(place) + [other] + parts[..<count].dropFirst(place + 1))
                        .joined(separator: "/")
                }
            }
            for name in [name, name + "/", "/" + name, name + "x", String(name.dropLast())]
                + changed
            {
                let isOfIt = (try? DatabaseID(ofResource: name)) == id
                #expect(names.include(name) == isOfIt, "\(name)")
                seen.insert(isOfIt)
            }
        }
        #expect(seen == [true, false])
    }
}
