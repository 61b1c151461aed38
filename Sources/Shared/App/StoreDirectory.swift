import Foundation

/// The directories of the stores that shared databases use.
package enum StoreDirectory {
    /// The directory of a database's store.
    ///
    /// `LARDER_DIRECTORY`, else `larder` in `XDG_DATA_HOME`, else `~/.local/share/larder`; below
    /// it the project and the database, and the application's name between unless it is the
    /// default one.
    ///
    /// - Parameters:
    ///   - app: the application's name.
    ///   - project: the project.
    ///   - name: a file name that is unique among the databases of the project: a ``fileName(_:)``
    ///     as such for Firestore; the Realtime Database puts a prefix with a point before it.
    package static func path(
        app: String, in project: String, named name: String,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        home: String = NSHomeDirectory()
    ) -> String {
        var names = [fileName(project)]
        if app != FirebaseApp.defaultName { names.append(fileName(app)) }
        names.append(name)
        return ([root(environment, home)] + names).joined(separator: "/")
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

    /// A name escaped for use as a file name; it contains no point.
    package static func fileName(_ name: String) -> String {
        let safe = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_()")
        return name.addingPercentEncoding(withAllowedCharacters: safe) ?? name
    }
}
