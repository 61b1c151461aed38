import ArgumentParser
import LarderRealtimeServer

/// Files that Realtime Databases come from and go to.
struct DataFileOptions: ParsableArguments {
    @Option(
        name: .customLong("import"),
        help: ArgumentHelp(
            "A file NAMESPACE.json, or a directory of such files, for Realtime Databases without "
                + "data.",
            valueName: "path"))
    var importPath: String?

    @Option(
        help: ArgumentHelp(
            "Write all Realtime Databases to files in this directory when the server has stopped.",
            valueName: "directory"))
    var exportOnExit: String?

    func apply(to configuration: inout RealtimeServerConfiguration) {
        configuration.importProgress = ImportProgress.handler
        configuration.importPath = importPath
        configuration.exportDirectory = exportOnExit
    }
}
