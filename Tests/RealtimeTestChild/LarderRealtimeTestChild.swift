import Foundation
import LarderRealtime

/// A process that shares a database, without a backend, and makes writes until it is killed.
///
/// The arguments are the directory, the name of the process and locations that it makes pinned by
/// cache rules first, while everything else is never cached; without locations the rules stay. Write
/// `n` sets `writes/NAME/n` and `last/NAME`, and adds 1 to `count/NAME`; its number is printed once
/// it is durable.
@main
struct LarderRealtimeTestChild {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else {
            print("usage: LarderRealtimeTestChild DIRECTORY NAME [PINNED...]")
            exit(64)
        }
        let name = arguments[2]
        var configuration = DatabaseConfiguration(directory: arguments[1])
        configuration.access = .shared
        let database = try Database(configuration: configuration)
        let pinned = arguments.dropFirst(3)
        if !pinned.isEmpty {
            try await database.setCacheRules(
                pinned.map { DatabaseCacheRule($0, isPinned: true) }
                    + [DatabaseCacheRule("", isNeverCached: true)])
        }
        var number = 0
        while true {
            // Some at a time, so that commits have several.
            let writes = (1...4).map { _ in
                number += 1
                return (number, enqueue(number, name, database))
            }
            for (number, write) in writes {
                try await write.committedLocally()
                FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            }
        }
    }

    private static func enqueue(
        _ number: Int, _ name: String, _ database: Database
    ) -> DatabaseWrite {
        database.reference().enqueueUpdateChildValues([
            "writes/\(name)/\(number)": true, "last/\(name)": number,
            "count/\(name)": ServerValue.increment(1),
        ])
    }
}
