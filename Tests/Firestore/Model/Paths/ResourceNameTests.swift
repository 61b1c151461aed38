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
        "the path after a database's prefix is that of the parts, if the database is the same",
        arguments: [
            "projects/p/databases/(default)/documents/a/b",
            "projects/p/databases/(default)/documents/a/b/c/d",
            "projects/p/databases/(default)/documents/", "projects/p/databases/(default)/documents",
            "projects/p/databases/(default)/documents/a",
            "projects/p/databases/(default)/documents/a//b",
            "projects/p/databases/(default)/documents/a/..",
            "projects/p/databases/d/documents/a/b", "projects/q/databases/(default)/documents/a/b",
            "projects/p/databases/(default)2/documents/a/b", "a/b", "",
        ])
    func prefix(text: String) {
        let database = DatabaseID(project: "p")
        let name = ResourceName(text)
        let parts = name.parts.flatMap { $0.database == database ? $0.document : nil }
        #expect(name.document(after: database.documentsPrefix) == parts)
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
