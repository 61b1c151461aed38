import Larder

/// The code in the article AtTheServer, and in the comments of what it describes.
enum AtTheServerSnippets {
    static func list(_ db: Firestore) async throws {
        // snippet: list-collections
        for collection in try await db.document("cities/SF").listCollections() {
            print(collection.path)
        }
        // end
    }

    static func select(_ db: Firestore) async throws -> QuerySnapshot {
        // snippet: select
        let names = try await db.collection("cities").select(["name"]).getDocuments()
        // end
        return names
    }

    static func write(
        _ db: Firestore, _ cities: [(id: String, fields: [String: Any])]
    ) async throws {
        // snippet: bulk-writer
        let writer = db.bulkWriter()
        for city in cities {
            try await writer.waitForCapacity()
            writer.setData(city.fields, forDocument: db.document("cities/\(city.id)"))
        }
        await writer.close()
        // end
    }

    static func writeMany(_ db: Firestore) async throws {
        // snippet: bulk-writer-many
        let writer = db.bulkWriter()
        writer.onWriteError { failure in
            print("\(failure.document.path): \(failure.error.message)")
            return failure.failedAttempts < 5
        }
        for number in 0..<100_000 {
            try await writer.waitForCapacity()
            writer.setData(["number": number], forDocument: db.document("numbers/\(number)"))
        }
        await writer.close()
        print("\(writer.progress.succeededCount) written, \(writer.progress.failedCount) failed")
        // end
    }

    static func delete(_ db: Firestore) async throws {
        // snippet: recursive-delete
        try await db.recursiveDelete(db.collection("cities")) { print("\($0) deleted") }
        // end
    }
}
