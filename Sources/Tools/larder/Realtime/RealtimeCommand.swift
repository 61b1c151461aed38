import ArgumentParser
import LarderRealtime

/// `larder rtdb`: the tree of a Realtime Database.
struct RealtimeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rtdb",
        abstract: "Reads, changes, watches, imports and exports a Realtime Database.",
        discussion: """
            The store is that of an application that uses LarderRealtime. Without a backend the \
            tool is such an application without a network: reads show what is cached, and writes \
            are pending until the application sends them.

            With a backend the tool is an application with a server: reads are complete and \
            writes are acknowledged. The backend runs in the tool and keeps its tree in a \
            directory: --backend DIR, else the folder 'backend' of the store if it exists. \
            'larder rtdb import' creates a store with such a folder.

            One process at a time can use a store or a backend. 'larder stat', 'check' and 'copy' \
            also work on these stores; the tree is in the category 'nodes'.

            EXAMPLES
              larder rtdb import scores.json scores
              larder rtdb query scores --order-by-value --limit-to-last 4
              larder rtdb update scores/lambeosaurus points=increment:5 seen=now:
              larder rtdb export scores --output scores.json
              larder rtdb pending --store /var/lib/game/realtime
              larder rtdb rules check database.rules.json
              larder stat --store larder-store/backend
            """,
        subcommands: [
            RealtimeGetCommand.self, RealtimeQueryCommand.self, RealtimeSetCommand.self,
            RealtimeUpdateCommand.self, RealtimePushCommand.self, RealtimeRemoveCommand.self,
            RealtimeWatchCommand.self, RealtimeImportCommand.self, RealtimeExportCommand.self,
            RealtimePendingCommand.self, RealtimeDeadLettersCommand.self,
            RealtimeRulesCommand.self,
        ])
}

/// Paths as text.
enum RealtimePath {
    /// The path of a location: "/" for the root, else keys joined by slashes.
    static func text(_ location: DatabaseReference) -> String {
        var keys: [String] = []
        var next: DatabaseReference? = location
        while let location = next, let key = location.key {
            keys.append(key)
            next = location.parent
        }
        return keys.isEmpty ? "/" : keys.reversed().joined(separator: "/")
    }
}
