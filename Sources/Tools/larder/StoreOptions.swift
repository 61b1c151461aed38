import ArgumentParser
import Foundation
import LarderModel
import LarderStorage

/// What every command takes: which store, and how to print.
struct StoreOptions: ParsableArguments {
    /// The directory that is meant where nothing else is said.
    static let defaultDirectory = "larder-store"

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The store's directory (default: $LARDER_STORE, else \(defaultDirectory)).",
            valueName: "dir"))
    var store: String?

    @Flag(help: "Print JSON for programs instead of text for people.")
    var json = false

    /// The directory: the option, else the environment, else the default.
    var directory: String {
        if let store { return store }
        if let named = ProcessInfo.processInfo.environment["LARDER_STORE"], !named.isEmpty {
            return named
        }
        return Self.defaultDirectory
    }

    mutating func validate() throws {
        if store?.isEmpty == true { throw ValidationError("--store takes a directory.") }
    }

    /// Opens the store, which must be there.
    func open(_ access: StoreConfiguration.Access) throws -> Store {
        var configuration = StoreConfiguration(directory: directory)
        configuration.access = access
        configuration.createsStore = false
        return try open(configuration)
    }

    /// Opens a store as configured; errors name the directory and what to do.
    func open(_ configuration: StoreConfiguration) throws -> Store {
        try opening(createsStore: configuration.createsStore) { () throws(LarderError) in
            try Store(configuration)
        }
    }

    /// Runs what opens the store; errors name the directory and what to do.
    func opening<Opened>(
        createsStore: Bool, _ open: () throws(LarderError) -> Opened
    ) throws -> Opened {
        do throws(LarderError) {
            return try open()
        } catch {
            if error.condition == .noStore {
                throw ToolError(
                    .noInput, "there is no store at '\(directory)'",
                    hint: "'larder import FILE --collection PATH --store \(directory)' creates "
                        + "one, --store or LARDER_STORE names another")
            }
            if createsStore && error.condition == .io && !System.exists(directory) {
                throw ToolError(
                    .cannotCreate, "cannot create the store '\(directory)': \(error.message)",
                    hint: "name another directory with --store")
            }
            throw ToolError(error, about: "cannot open the store '\(directory)'")
        }
    }

    /// Runs a command's body; errors of the store name its directory.
    func describingErrors<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as LarderError {
            throw ToolError(error, about: "store '\(directory)'")
        }
    }
}

/// The paths that a command line names.
enum PathArgument {
    /// What a path names: an odd number of segments a collection, an even one a document.
    enum Kind {
        case collection(CollectionPath)
        case document(DocumentPath)
    }

    /// A path of either kind.
    static func either(_ text: String) throws -> Kind {
        let segments = text.utf8.split(separator: UInt8(ascii: "/")).count
        return segments.isMultiple(of: 2)
            ? .document(try document(text)) : .collection(try collection(text))
    }

    /// The path of a collection.
    static func collection(_ text: String) throws -> CollectionPath {
        do throws(LarderError) {
            return try CollectionPath(text)
        } catch {
            throw ToolError(.usage, error.message, hint: "give a collection's path, e.g. cities")
        }
    }

    /// The path of a document.
    static func document(_ text: String) throws -> DocumentPath {
        do throws(LarderError) {
            return try DocumentPath(text)
        } catch {
            throw ToolError(.usage, error.message, hint: "give a document's path, e.g. cities/SF")
        }
    }
}
