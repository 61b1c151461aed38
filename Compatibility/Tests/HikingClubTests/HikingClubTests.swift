import FirebaseDatabase
import FirebaseFirestore
import HikingClub
import LarderBackend
import LarderRealtimeBackend
import Testing

/// The application on backends in this process.
///
/// What follows is all that it does not say itself: where data lies, and which backends there are.
@Suite("An application of Apple's SDK, import lines included")
struct HikingClubTests {
    @Test("Documents, queries, transactions, errors, messages and presence")
    func club() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("hiking-club-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        setenv("LARDER_DIRECTORY", directory.path, 1)
        let optionsFile = directory.appendingPathComponent("GoogleService-Info.plist")
        let options = ["PROJECT_ID": "club", "DATABASE_URL": "https://club.firebaseio.com"]
        try PropertyListSerialization.data(
            fromPropertyList: options, format: .xml, options: 0
        ).write(to: optionsFile)

        AppStart.configure(optionsFile: optionsFile.path)
        #expect(AppStart.about().hasPrefix("club, "))
        let db = AppStart.openFirestore()
        db.useBackend(try Backend(BackendConfiguration(project: "club")).connection)
        AppStart.prepare(db)
        let database = AppStart.openDatabase()
        database.useBackend(RealtimeBackend(RealtimeBackendConfiguration()).connection)

        try await trails(db)
        try await errors(db)
        try await notes(db)
        let member: any AppMember = database
        #expect(member.app != nil)
        try await room(database)

        try await db.terminate()
        try await database.close()
    }

    private func trails(_ db: Firestore) async throws {
        let repository = TrailRepository(db: db)
        let place = GeoPoint(latitude: 46.5, longitude: 8)
        func trail(_ name: String, _ meters: Int, _ surface: Surface, _ tags: [String]) -> Trail {
            Trail(
                name: name, region: "Alps", lengthInMeters: meters, surface: surface, start: place,
                tags: tags)
        }
        try repository.store(trail("Ridge", 9000, .rock, ["views"]), as: "ridge")
        try repository.store(trail("Valley", 6000, .gravel, ["huts"]), as: "valley")
        try repository.store(trail("Wood", 3000, .forest, []), as: "wood")
        try await db.waitForPendingWrites()

        let first = try await repository.page(of: "Alps", after: nil, size: 2)
        #expect(first.map(\.documentID) == ["ridge", "valley"])
        let second = try await repository.page(of: "Alps", after: first.last, size: 2)
        #expect(second.map(\.documentID) == ["wood"])
        #expect(try await repository.sheltered() == ["valley", "wood"])
        let statistics = try await repository.statistics()
        #expect(statistics.count == 3 && statistics.meters == 18_000)

        repository.retag("ridge", adding: ["steep", "dry"], removing: ["views"])
        let summary = try await repository.summary("ridge")
        #expect(summary.surface == .rock && summary.tags == ["steep", "dry"])

        let review = Review(
            author: "Ada", rating: 4, text: "Good", writtenAt: Date(timeIntervalSince1970: 1e9))
        try await db.waitForPendingWrites()
        #expect(try await repository.rate("ridge", with: review) == 4)
        #expect(try await repository.reviews(by: "Ada") == [review])
        let ridge = try #require(try await repository.trail("ridge"))
        #expect(ridge.id == "ridge" && ridge.ratingCount == 1 && ridge.guide == nil)
        #expect(ridge.updatedAt != nil && ridge.start == place)

        let query = db.collection("trails").order(by: "name")
        #expect(query.isEqual(db.collection("trails").order(by: "name")))
        #expect(!query.isEqual(db.collection("trails")))
        #expect(try await TrailList.first(of: query) == ["ridge", "valley", "wood"])
        try await list(query, repository)
        try await repository.remove(["ridge", "wood"])
        #expect(try await repository.trail("ridge") == nil)
    }

    private func notes(_ db: Firestore) async throws {
        let collection = db.collection("notes")
        let double = NoteStoreDouble(collection)
        #expect(Notes(store: double).add("at the ford") == "note 0")
        let id = Notes(store: collection).add("at the hut")
        #expect(try await Notes.all(in: collection) == [id])

        let bundles: any BundleStore = db
        _ = bundles.loadBundle(Data(), completion: nil)

        let listener = ListenerDouble()
        let registration: any ListenerRegistration = listener
        registration.remove()
        #expect(listener.isRemoved)
    }

    private func list(_ query: Query, _ repository: TrailRepository) async throws {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        let list = TrailList(query: query) { continuation.yield() }
        list.start()
        var iterator = changes.makeAsyncIterator()
        await iterator.next()
        #expect(list.trails.map(\.name) == ["Ridge", "Valley", "Wood"])
        repository.retag("wood", adding: ["shade"], removing: [])
        while list.trails.last?.tags != ["shade"] { await iterator.next() }
        #expect(list.log.starts(with: ["+ ridge", "+ valley", "+ wood", "~ wood"]))
        list.stop()
    }

    private func errors(_ db: Firestore) async throws {
        var caught: (any Error)?
        do {
            try await db.document("trails/none").updateData(["name": "None"])
        } catch {
            caught = error
        }
        let error = try #require(caught)
        #expect(ErrorText.describe(error) == "It does not exist.")
        #expect(ErrorText.codeByCast(error) == .notFound)
        #expect(ErrorText.codeByWrapping(error) == .notFound)
        #expect(ErrorText.codeByNumber(error) == .notFound)
        let byCatch = await ErrorText.codeByCatch {
            try await db.document("trails/none").updateData(["name": "None"])
        }
        #expect(byCatch == "not found")
        let own = ErrorText.missing("no such hut")
        #expect(ErrorText.codeByCast(own) == .notFound)
        #expect((own as? FirestoreErrorCode)?.localizedDescription == "no such hut")
        let other = NSError(domain: NSCocoaErrorDomain, code: 5)
        #expect(ErrorText.codeByCast(other) == nil && ErrorText.codeByWrapping(other) == .unknown)
    }

    private func room(_ database: Database) async throws {
        let room = ClubRoom(database: database, name: "hut")
        let (messages, continuation) = AsyncStream.makeStream(of: Message.self)
        room.follow(last: 10) { continuation.yield($0) }
        let greeting = Message(author: "Ada", text: "Hello")
        let answer = Message(author: "Grace", text: "Good evening")
        room.send(greeting)
        await withCheckedContinuation { continuation in
            room.send(answer) { error in
                #expect(error == nil)
                continuation.resume()
            }
        }
        var iterator = messages.makeAsyncIterator()
        #expect(await iterator.next() == greeting)
        #expect(await iterator.next() == answer)
        #expect(try await room.messageCount() == 2)
        #expect(try await room.history() == [greeting, answer])
        room.enter(as: "Ada")
        while try await room.members() != ["Ada"] { await Task.yield() }
        #expect(try await room.vote(for: "2026-12-01") == 1)
        #expect(try await room.vote(for: "2026-12-01") == 2)
        room.stop()
    }
}

/// Counts notes instead of storing them.
private final class NoteStoreDouble: NoteStore {
    private let collection: CollectionReference
    private var count = 0

    init(_ collection: CollectionReference) {
        self.collection = collection
    }

    func addDocument(data: [String: Any]) -> DocumentReference {
        addDocument(data: data, completion: nil)
    }

    func addDocument(data: [String: Any], completion: ((Error?) -> Void)?) -> DocumentReference {
        defer { count += 1 }
        return collection.document("note \(count)")
    }
}

private final class ListenerDouble: ListenerRegistration, @unchecked Sendable {
    // Used by one test only.
    private(set) var isRemoved = false

    func remove() {
        isRemoved = true
    }
}
