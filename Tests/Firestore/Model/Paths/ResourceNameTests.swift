import LarderModel
import Testing

@Suite("Resource names")
struct ResourceNameTests {
    @Test("a name has a project, a database and a document's path")
    func parts() throws {
        let database = DatabaseID(project: "p")
        let name = ResourceName(database: database, document: try DocumentPath("a/b/c/d"))
        #expect(name.string == "projects/p/databases/(default)/documents/a/b/c/d")
        #expect(name.database == database)
        #expect(name.document == (try DocumentPath("a/b/c/d")))
    }

    @Test(
        "other text is no document's name",
        arguments: [
            "", "a/b", "projects/p/databases/d/documents", "projects/p/databases/d/documents/",
            "projects/p/databases/d/documents/a", "projects//databases/d/documents/a/b",
            "project/p/databases/d/documents/a/b", "projects/p/databases/d/docs/a/b",
        ])
    func otherText(text: String) {
        #expect(ResourceName(text).document == nil)
        #expect(ResourceName(text).database == nil)
    }
}
