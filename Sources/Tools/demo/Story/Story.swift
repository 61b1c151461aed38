import ArgumentParser
import Foundation
package import Larder

/// A demo: a database loses its network and its process, and ends in the state of its backend.
///
/// Each chapter runs in a process of its own, like an application: they share only the directory of
/// the cache and the backend.
package struct Story {
    /// The chapters, in order.
    package enum Chapter: String, CaseIterable, Sendable {
        /// Writes cities to the backend and listens to them.
        case load
        /// Reads and writes the cache without a network; the process kills itself.
        case leave
        /// A later process finds the pending writes and sends them to the backend.
        case comeBack = "return"
    }

    package static let project = "larder-demo"

    private let directory: String
    private let connection: RemoteConnection
    private let transcript = Transcript()

    /// - Parameters:
    ///   - directory: the directory of the cache.
    ///   - connection: the backend.
    package init(directory: String, connection: RemoteConnection) {
        self.directory = directory
        self.connection = connection
    }

    /// Runs a chapter; ``Chapter/leave`` does not return, because the process kills itself.
    ///
    /// - Parameter file: the cities, one JSON object with an `id` per line.
    package func tell(_ chapter: Chapter, citiesIn file: String) async throws {
        let db = try Firestore(configuration: configuration)
        switch chapter {
        case .load: try await load(file, into: db)
        case .leave: try await leave(db)
        case .comeBack: try await comeBack(to: db)
        }
        try await db.terminate()
    }

    private var configuration: FirestoreConfiguration {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = Self.project
        configuration.backend = connection
        return configuration
    }

    // MARK: Chapters

    private func load(_ file: String, into db: Firestore) async throws {
        transcript.title("A process with a network")
        let cities = try City.read(file)
        try await transcript.step("write \(cities.count) cities; the backend acknowledges them") {
            var rest = cities[...]
            while !rest.isEmpty {
                let batch = db.batch()
                for city in rest.prefix(500) {
                    try batch.setData(from: city, forDocument: db.document("cities/\(city.id)"))
                }
                try await batch.commit()
                rest = rest.dropFirst(500)
            }
            return "done"
        }
        try await transcript.step("ask the backend how many there are") {
            let count = db.collection("cities").count
            return "\(try await count.getAggregation(source: .server).count)"
        }
        try await transcript.step("listen to cities with more than 5 million people") {
            for try await snapshot in large(db).snapshots(includeMetadataChanges: true)
            where !snapshot.metadata.isFromCache {
                return "\(snapshot.count), confirmed by the backend"
            }
            return "nothing"
        }
    }

    private func leave(_ db: Firestore) async throws {
        transcript.title("The next process, without a network")
        try await db.disableNetwork()
        try await transcript.step("query the cache for cities with more than 5 million people") {
            let found = try await large(db).getDocuments(source: .cache)
            return "\(found.count), the largest \(try name(found.documents.first))"
        }
        try await transcript.step("update one, create one, delete one: committed locally") {
            let handles = [
                db.document("cities/2643743").enqueueUpdateData([
                    "population": FieldValue.increment(Int64(1))
                ]),
                db.document("cities/larder").enqueueSetData([
                    "id": "larder", "name": "Larder", "country": "XX", "population": 5_000_001,
                ]),
                db.document("cities/53654").enqueueDelete(),
            ]
            for handle in handles { _ = try await handle.committedLocally() }
            return "\(try await db.pendingWrites().count) writes pending"
        }
        transcript.line("kill the process without closing anything")
        kill(getpid(), SIGKILL)
    }

    private func comeBack(to db: Firestore) async throws {
        transcript.title("The next process, with a network again")
        try await db.disableNetwork()
        try await transcript.step("open the cache that the killed process left") {
            "\(try await db.pendingWrites().count) writes pending"
        }
        try await transcript.step("read the pending writes from the cache") {
            let london = try await db.document("cities/2643743").getDocument(source: .cache)
            let founded = try await db.document("cities/larder").getDocument(source: .cache)
            let gone = try await db.document("cities/53654").getDocument(source: .cache)
            guard founded.exists, !gone.exists else { throw Unequal("the cache lost a write") }
            return "\(try name(london)) has \(london.get("population") ?? "nobody"), pending"
        }
        try await transcript.step("enable the network; all writes are acknowledged") {
            try await db.enableNetwork()
            try await db.waitForPendingWrites()
            return "\(try await db.pendingWrites().count) writes pending"
        }
        try await transcript.step("compare the cache with the results of a client without one") {
            let here = try await db.collection("cities").getDocuments(source: .server)
            return "equal, \(try await compare(here)) cities"
        }
    }

    // MARK: Queries

    private func large(_ db: Firestore) -> Query {
        db.collection("cities").whereField("population", isGreaterThan: 5_000_000)
            .order(by: "population", descending: true)
    }

    private func name(_ document: DocumentSnapshot?) throws -> String {
        guard let name = document?.get("name") as? String else {
            throw Unequal("a city is missing")
        }
        return name
    }

    private func compare(_ here: QuerySnapshot) async throws -> Int {
        var fresh = FirestoreConfiguration.inMemory
        fresh.project = Self.project
        fresh.backend = connection
        let other = try Firestore(configuration: fresh)
        let there = try await other.collection("cities").getDocuments(source: .server)
        let (ours, theirs) = (try cities(of: here), try cities(of: there))
        for (id, city) in ours where theirs[id] != city { throw Unequal("city \(id) differs") }
        guard ours.count == theirs.count else {
            throw Unequal("\(ours.count) cities in the cache, \(theirs.count) at the backend")
        }
        try await other.terminate()
        return ours.count
    }

    private func cities(of snapshot: QuerySnapshot) throws -> [String: City] {
        var cities: [String: City] = [:]
        for document in snapshot.documents {
            cities[document.documentID] = try document.data(as: City.self)
        }
        return cities
    }
}

struct City: Codable, Equatable {
    /// The location in degrees.
    struct Place: Codable, Equatable {
        var latitude: Double
        var longitude: Double
    }

    var id: String
    var name: String
    var country: String
    var population: Int
    var location: Place?
    var timezone: String?
    var alternateNames: [String]?

    /// Reads a file of cities, one JSON object per line.
    static func read(_ file: String) throws -> [City] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let decoder = JSONDecoder()
        return try text.split(separator: "\n").map { line in
            try decoder.decode(City.self, from: Data(line.utf8))
        }
    }
}

/// The arguments of every demo program.
package struct StoryArguments: ParsableArguments {
    package static let abstract =
        "Runs a chapter of a database that loses its network and its process."

    @Argument(help: "The chapter to run.")
    private var chapter: Story.Chapter

    @Option(help: "The directory of the cache.")
    private var cache: String

    @Option(help: "A file of cities, one JSON object per line.")
    private var cities: String

    package init() {}

    /// Runs the chapter against a backend.
    package func tell(with connection: RemoteConnection) async throws {
        try await Story(directory: cache, connection: connection).tell(chapter, citiesIn: cities)
    }
}

extension Story.Chapter: ExpressibleByArgument {}
