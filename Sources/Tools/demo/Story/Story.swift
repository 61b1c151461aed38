import ArgumentParser
import Foundation
package import Larder

/// The life of a database that loses its network and its process, and ends as its backend has it.
///
/// Each chapter is told by a process of its own, which is what an application would be: they have
/// nothing in common but the directory of the cache and the backend.
package struct Story {
    /// The parts of the story, in order.
    package enum Chapter: String, CaseIterable, Sendable {
        /// Cities are written through the backend, and listened to.
        case load
        /// Without a network the cache is asked and written to; the process is killed.
        case leave
        /// The next process finds what was written, and brings it to the backend.
        case comeBack = "return"
    }

    /// The project of the database.
    package static let project = "larder-demo"

    private let directory: String
    private let connection: RemoteConnection
    private let transcript = Transcript()

    /// - Parameters:
    ///   - directory: where the cache is.
    ///   - connection: the backend.
    package init(directory: String, connection: RemoteConnection) {
        self.directory = directory
        self.connection = connection
    }

    /// Tells a chapter.
    ///
    /// - Parameters:
    ///   - chapter: which one; `leave` does not return: the process kills itself.
    ///   - file: cities, a JSON object a line with an `id`.
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
        try await transcript.step("listen to those with more than 5 million people") {
            for try await snapshot in large(db).snapshots(includeMetadataChanges: true)
            where !snapshot.metadata.isFromCache {
                return "\(snapshot.count), as the backend has them"
            }
            return "nothing"
        }
    }

    private func leave(_ db: Firestore) async throws {
        transcript.title("The next process, without a network")
        try await db.disableNetwork()
        try await transcript.step("ask the cache for those with more than 5 million people") {
            let found = try await large(db).getDocuments(source: .cache)
            return "\(found.count), the largest \(try name(found.documents.first))"
        }
        try await transcript.step("change one, found one, delete one: durable here") {
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
            return "\(try await db.pendingWrites().count) writes wait"
        }
        transcript.line("kill the process, with nothing closed")
        kill(getpid(), SIGKILL)
    }

    private func comeBack(to db: Firestore) async throws {
        transcript.title("The next process, with a network again")
        try await db.disableNetwork()
        try await transcript.step("open the cache that the killed process left") {
            "\(try await db.pendingWrites().count) writes wait"
        }
        try await transcript.step("read what it wrote, before the backend knows") {
            let london = try await db.document("cities/2643743").getDocument(source: .cache)
            let founded = try await db.document("cities/larder").getDocument(source: .cache)
            let gone = try await db.document("cities/53654").getDocument(source: .cache)
            guard founded.exists, !gone.exists else { throw Unequal("the cache lost a write") }
            return "\(try name(london)) has \(london.get("population") ?? "nobody"), pending"
        }
        try await transcript.step("enable the network; all writes are acknowledged") {
            try await db.enableNetwork()
            try await db.waitForPendingWrites()
            return "\(try await db.pendingWrites().count) writes wait"
        }
        try await transcript.step("compare the cache with what a client without one is told") {
            let here = try await db.collection("cities").getDocuments(source: .server)
            return "equal, \(try await compare(here)) cities"
        }
    }

    // MARK: What is asked

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

    /// - Returns: how many cities there are, here and at the backend.
    private func compare(_ here: QuerySnapshot) async throws -> Int {
        var fresh = FirestoreConfiguration.inMemory
        fresh.project = Self.project
        fresh.backend = connection
        let other = try Firestore(configuration: fresh)
        let there = try await other.collection("cities").getDocuments(source: .server)
        let (ours, theirs) = (try cities(of: here), try cities(of: there))
        for (id, city) in ours where theirs[id] != city { throw Unequal("city \(id) differs") }
        guard ours.count == theirs.count else {
            throw Unequal("\(ours.count) cities here, \(theirs.count) at the backend")
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

/// The story does not end well.
private struct Unequal: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A city of the sample.
struct City: Codable, Equatable {
    /// Where it is, in degrees.
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

    /// The cities of a file, a JSON object a line.
    static func read(_ file: String) throws -> [City] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let decoder = JSONDecoder()
        return try text.split(separator: "\n").map { line in
            try decoder.decode(City.self, from: Data(line.utf8))
        }
    }
}

/// Tells what happens, a line each, with the time that it took.
struct Transcript {
    private let clock = ContinuousClock()

    /// Begins a chapter.
    func title(_ text: String) {
        print("\n\(text)")
    }

    /// Something that takes no time.
    func line(_ text: String) {
        tell("", text)
    }

    /// Does a step, and says how long it took and what came of it.
    func step(_ text: String, _ body: () async throws -> String) async throws {
        let start = clock.now
        let result = try await body()
        let (seconds, attoseconds) = start.duration(to: clock.now).components
        let milliseconds = Double(seconds) * 1e3 + Double(attoseconds) / 1e15
        tell(String(format: "%.1f ms", milliseconds), "\(text): \(result)")
    }

    private func tell(_ time: String, _ text: String) {
        let blanks = String(repeating: " ", count: max(0, 11 - time.count))
        print(blanks + time + "  " + text)
        // Whoever is killed has said what it did.
        fflush(nil)
    }
}

/// What every program that tells the story is asked for.
package struct StoryArguments: ParsableArguments {
    /// What such a program says of itself.
    package static let abstract =
        "Tells a chapter of a database that loses its network and its process."

    @Argument(help: "The chapter to tell, in this order.")
    private var chapter: Story.Chapter

    @Option(help: "The directory of the cache.")
    private var cache: String

    @Option(help: "Cities, a JSON object a line.")
    private var cities: String

    package init() {}

    /// Tells the chapter.
    ///
    /// - Parameter connection: the backend.
    package func tell(with connection: RemoteConnection) async throws {
        try await Story(directory: cache, connection: connection).tell(chapter, citiesIn: cities)
    }
}

extension Story.Chapter: ExpressibleByArgument {}
