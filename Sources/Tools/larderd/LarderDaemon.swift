import ArgumentParser
import Foundation
import LarderModel
import LarderServer
import Logging
import ServiceLifecycle
import UnixSignals

/// The local server as a program: reads arguments, runs a ``LarderServer/Server`` until it is told
/// to stop.
@main
struct LarderDaemon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larderd",
        abstract: "A local server that Cloud Firestore's clients use.",
        discussion: """
            Clients find it as they find Google's emulator: set FIRESTORE_EMULATOR_HOST
            to its address. On the same port it answers HTTP: GET /, GET /health, and
            DELETE /emulator/v1/projects/P/databases/D/documents, which deletes all
            documents. Such a request is refused when it names a host that is not this
            machine, its address or an --allow-host, and when a web page of another site
            makes it.

            A data directory is used by one larderd at a time.

            EXAMPLES
              larderd --data ./data
              larderd --memory --port 0 --ready-file /run/larderd.address
              larderd --data /var/lib/larder --host 0.0.0.0 \\
                --token-file /etc/larder/token \\
                --tls-certificate /etc/larder/cert.pem --tls-key /etc/larder/key.pem
              FIRESTORE_EMULATOR_HOST=127.0.0.1:8080 python3 app.py
              curl -X DELETE \\
                '127.0.0.1:8080/emulator/v1/projects/demo/databases/(default)/documents'

            It ends in good order with SIGTERM or SIGINT. Exit status: 0 after that; 64
            for arguments that are wrong by themselves or together; 1 for anything else,
            such as an address that others can reach without TLS and a token, or a data
            directory that cannot be used or that another larderd has.
            """)

    @Option(help: "The address to listen at.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen at; 0 for any that is free.")
    var port: UInt16 = 8080

    @Option(help: ArgumentHelp("Where databases are kept.", valueName: "directory"))
    var data: String?

    @Flag(help: "Keep databases in memory: nothing is left at the end.")
    var memory = false

    @OptionGroup var security: SecurityOptions

    @OptionGroup var limits: LimitOptions

    @Option(
        help: ArgumentHelp(
            "A file that is written with the address once the server listens.",
            valueName: "file"))
    var readyFile: String?

    @Option(
        help: ArgumentHelp(
            "What is logged: trace, debug, info, notice, warning, error or critical; "
                + "warning unless it is said otherwise.",
            valueName: "level"),
        transform: Logger.Level.init(argument:))
    var logLevel = Logger.Level.warning

    func validate() throws {
        guard memory != (data != nil) else {
            throw ValidationError("Say either --data DIRECTORY or --memory.")
        }
        if let data, data.isEmpty { throw ValidationError("--data needs a directory.") }
    }

    func run() async throws {
        var logger = Logger(label: "larderd") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = logLevel
        do {
            let server = try Server(try configuration(), logger: logger)
            let ready = Readiness(
                server: server, file: readyFile, host: host,
                summary: "\(storageText)\(security.text)")
            var group = ServiceGroupConfiguration(
                services: [.init(service: server), .init(service: ready)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            group.maximumGracefulShutdownDuration = .seconds(30)
            try await ServiceGroup(configuration: group).run()
        } catch let error as LarderError {
            var message = error.message
            if error.kind == .failedPrecondition { message += SecurityOptions.advice }
            logger.error("\(message)")
            throw ExitCode(error.kind == .invalidArgument ? EX_USAGE : EXIT_FAILURE)
        }
    }

    private var storageText: String { data.map { "databases in \($0)" } ?? "databases in memory" }

    private func configuration() throws -> ServerConfiguration {
        var configuration = ServerConfiguration(
            host: host, port: Int(port), storage: data.map { .directory($0) } ?? .memory)
        configuration.tls = security.tls
        configuration.token = try security.readToken()
        configuration.allowsInsecure = security.insecure
        configuration.allowedHosts = security.allowedHosts
        limits.apply(to: &configuration.limits)
        return configuration
    }
}

extension Logger.Level {
    /// The level that an argument names.
    fileprivate init(argument: String) throws {
        guard let level = Self(rawValue: argument) else {
            throw ValidationError("'\(argument)' is no level of the log.")
        }
        self = level
    }
}
