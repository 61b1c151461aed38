import Foundation
import LarderModel

/// Where the databases of the shared-instance form lie.
enum DatabaseDirectory {
    /// The directory of a database of an application object.
    ///
    /// `LARDER_DIRECTORY`, else `larder` in `XDG_DATA_HOME`, else `~/.local/share/larder`; below
    /// it the project and the database, and the application's name between unless it is the
    /// default one.
    static func path(
        app: String, _ id: DatabaseID,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        home: String = NSHomeDirectory()
    ) -> String {
        var names = [id.project]
        if app != FirebaseApp.defaultName { names.append(app) }
        names.append(id.database)
        return ([root(environment, home)] + names.map(fileName)).joined(separator: "/")
    }

    private static func root(_ environment: [String: String], _ home: String) -> String {
        if let directory = environment["LARDER_DIRECTORY"], !directory.isEmpty {
            return directory
        }
        // The base directory specification has relative paths ignored.
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
            return data + "/larder"
        }
        return home + "/.local/share/larder"
    }

    /// A name without what a path or a file system would take for something else.
    private static func fileName(_ name: String) -> String {
        let safe = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_()")
        return name.addingPercentEncoding(withAllowedCharacters: safe) ?? name
    }
}
