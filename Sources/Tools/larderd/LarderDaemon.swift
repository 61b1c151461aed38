import ArgumentParser
import Dispatch
import Foundation
import LarderCore
import LarderHTTP
import LarderModel
import LarderRealtimeServer
import LarderServer
import Logging
import Metrics
import ServiceLifecycle
import UnixSignals

#if !Tools
    #error("this program needs the trait Tools of the package larder")
#endif

/// The program `larderd`: runs a ``LarderServer/Server`` until it receives SIGTERM, SIGINT or SIGQUIT.
@main
struct LarderDaemon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larderd",
        abstract: "A local server for clients of Cloud Firestore and Realtime Databases.",
        discussion: """
            Clients connect as to Google's emulators: set FIRESTORE_EMULATOR_HOST and
            FIREBASE_DATABASE_EMULATOR_HOST to the address of larderd. The same port serves
            Firestore's calls with one request as JSON over HTTP, at the paths of Google's
            API: GET /v1/projects/P/databases/D/documents/..., and Realtime Databases over
            WebSockets, REST and event streams: GET /path.json?ns=NAMESPACE.
            GET /, GET /health and GET /metrics are for operators, and
            DELETE /emulator/v1/projects/P/databases/D/documents deletes all documents of a
            database. A request over HTTP is refused unless its Host header names this
            machine, its address or an --allow-host, and if it comes from a web page of
            another site, unless that is an --allow-origin, or a page of localhost and the
            server listens on loopback.

            Only one larderd can use a data directory at a time.

            EXAMPLES
              larderd --data ./data
              larderd --memory --port 0 --ready-file /run/larderd.address
              larderd --data /var/lib/larder --host 0.0.0.0 \\
                --token-file /etc/larder/token \\
                --tls-certificate /etc/larder/cert.pem --tls-key /etc/larder/key.pem
              larderd --memory --rules database.rules.json
              larderd --memory --import ./fixtures --export-on-exit ./fixtures
              FIRESTORE_EMULATOR_HOST=127.0.0.1:8080 python3 app.py
              curl -X DELETE \\
                '127.0.0.1:8080/emulator/v1/projects/demo/databases/(default)/documents'
              curl -X PUT '127.0.0.1:8080/scores/ada.json?ns=demo' -d 12

            Each option may also be an environment variable: LARDERD_TLS_KEY is --tls-key.
            The command line overrides the environment. Flags are true or false, the names
            of LARDERD_ALLOW_HOST and LARDERD_ALLOW_ORIGIN are separated by commas.

            SIGHUP reads the certificate, its key, the token file, rules and keys of users
            again. SIGTERM, SIGINT and SIGQUIT shut it down gracefully, within ten seconds; an
            export may take longer, as long as it goes on. Exit status: 0 after a graceful
            shutdown; 64 for invalid arguments; 1 for any other error, such as an address
            reachable from other machines without TLS and a token, a data directory that is
            unusable or in use by another larderd, or a shutdown that took too long.
            """,
        version: LarderVersion.text)

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free port.")
    var port: UInt16 = 8080

    @Option(help: ArgumentHelp("The directory of the databases.", valueName: "directory"))
    var data: String?

    @Flag(help: "Keep databases in memory; they are discarded at exit.")
    var memory = false

    @OptionGroup var security: SecurityOptions

    @OptionGroup var rules: RulesOptions

    @OptionGroup var auth: AuthOptions

    @OptionGroup var files: DataFileOptions

    @OptionGroup var limits: LimitOptions

    @Option(
        help: ArgumentHelp(
            "Write the address to this file once the server listens; removed at exit.",
            valueName: "file"))
    var readyFile: String?

    @Option(
        help: ArgumentHelp(
            "The log level: trace, debug, info, notice, warning, error or critical; at info each "
                + "request has a line.",
            valueName: "level"),
        transform: Logger.Level.init(argument:))
    var logLevel = Logger.Level.notice

    /// The time without an export after which a shutdown is abandoned and the process exits.
    ///
    /// A graceful one takes little more than the grace period of the server.
    private static let shutdownSeconds = 8

    /// Signals that end a process by default and mean nothing to this one: a log that no one reads, a
    /// file that is too large, timers, and SIGHUP until files can be read again.
    private static let ignoredSignals = [
        SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
    ]

    static func main() async {
        for number in ignoredSignals { signal(number, SIG_IGN) }
        MemoryAllocation.configure()
        do {
            let arguments = try EnvironmentArguments.arguments(
                Array(CommandLine.arguments.dropFirst()), ProcessInfo.processInfo.environment)
            if let message = EnvironmentArguments.misspelling(in: arguments) {
                exit(withError: ValidationError(message))
            }
            await main(arguments)
        } catch {
            exit(withError: ValidationError("\(error)"))
        }
    }

    func validate() throws {
        guard memory != (data != nil) else {
            throw ValidationError("Specify either --data DIRECTORY or --memory.")
        }
        if let data, data.isEmpty { throw ValidationError("--data requires a directory.") }
    }

    func run() async throws {
        var logger = Logger(label: "larderd") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = logLevel
        ProcessLimits.raiseFiles()
        let signals = ReloadSignals()
        // A service group does not know this signal.
        let timeLimit = DispatchSource.makeSignalSource(signal: SIGXCPU)
        timeLimit.setEventHandler { kill(getpid(), SIGTERM) }
        timeLimit.activate()
        defer { timeLimit.cancel() }
        let exported = ExportedBytes()
        let deadline = ShutdownDeadline(
            [SIGTERM, SIGINT, SIGQUIT], .seconds(Self.shutdownSeconds), progress: { exported.count }
        ) { [logger, readyFile, exports = files.abandonedText] in
            logger.error(
                "the shutdown took too long and is abandoned; acknowledged writes are on disk\(exports)"
            )
            if let readyFile { unlink(readyFile) }
            _exit(EXIT_FAILURE)
        }
        defer { deadline.cancel() }
        do {
            let metrics = PrometheusMetrics()
            MetricsSystem.bootstrap(metrics)
            var configuration = try configuration(exported)
            configuration.metricsText = { metrics.text() + ProcessMetrics.text() }
            let realtime = RealtimeEndpoint(
                try await realtimeConfiguration(configuration, exported), logger: logger)
            let server = try Server(configuration, services: [realtime], logger: logger)
            let ready = Readiness(
                server: server, file: readyFile, host: host,
                summary: "\(storageText)\(security.text)", notice: realtime.rulesNotice,
                logger: logger)
            let reloading = Reloading(
                signals: signals, server: server, realtime: realtime, security: security,
                rules: rules, logger: logger)
            let group = ServiceGroupConfiguration(
                services: [
                    .init(service: server), .init(service: ready), .init(service: reloading),
                ], gracefulShutdownSignals: [.sigterm, .sigint, .sigquit], logger: logger)
            try await ServiceGroup(configuration: group).run()
        } catch let error as LarderError {
            var message = error.message
            // Exposure is checked first.
            if error.kind == .failedPrecondition, !WebAccess.isLoopback(host), !security.isProtected
            {
                message += SecurityOptions.advice
            }
            logger.error("\(message)")
            throw ExitCode(error.kind == .invalidArgument ? EX_USAGE : EXIT_FAILURE)
        }
    }

    private var storageText: String { data.map { "databases in \($0)" } ?? "databases in memory" }

    private func configuration(_ exported: ExportedBytes) throws -> ServerConfiguration {
        var configuration = ServerConfiguration(
            host: host, port: Int(port), storage: data.map { .directory($0) } ?? .memory)
        configuration.tls = security.tls
        configuration.token = try security.readToken()
        configuration.allowsInsecure = security.insecure
        configuration.allowedHosts = security.allowedHosts
        configuration.allowedOrigins = security.allowedOrigins
        limits.apply(to: &configuration.limits)
        try files.apply(to: &configuration, exported)
        return configuration
    }
}

extension LarderDaemon {
    /// The folder of Realtime Databases in the data directory: no project's folder begins with a
    /// dot.
    private static let realtimeFolder = ".realtime"

    /// The configuration of Realtime Databases, with the limits and the token of the server.
    private func realtimeConfiguration(
        _ server: ServerConfiguration, _ exported: ExportedBytes
    ) async throws -> RealtimeServerConfiguration {
        var configuration = RealtimeServerConfiguration(
            data.map { .directory("\($0)/\(Self.realtimeFolder)") } ?? .memory)
        configuration.token = server.token
        configuration.isReachable = !WebAccess.isLoopback(host)
        configuration.namespaces = server.limits.databases
        configuration.namespacesPerAddress = server.limits.databasesPerAddress
        configuration.idleTime = server.limits.idleTime
        configuration.rules = try rules.read()
        try await auth.apply(to: &configuration)
        files.apply(to: &configuration, exported)
        return configuration
    }
}

extension Logger.Level {
    fileprivate init(argument: String) throws {
        guard let level = Self(rawValue: argument) else {
            throw ValidationError(
                "'\(argument)' is not a log level: use trace, debug, info, notice, warning, error or critical."
            )
        }
        self = level
    }
}
