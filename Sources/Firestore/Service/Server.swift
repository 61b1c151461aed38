import Foundation
import LarderCore
package import LarderHTTP
public import LarderModel
public import Logging
import NIOCore
import NIOPosix
public import ServiceLifecycle

/// A local server of `google.firestore.v1`, for any number of projects and databases.
///
/// Clients of Cloud Firestore connect as to Google's emulator. The same port serves the RPCs with
/// one request as JSON over HTTP, as Google does, and the endpoints of an operator: `GET /`, `GET
/// /health` and the deletion of all documents. Runs in a `ServiceGroup` or by itself.
public final class Server: Service {
    private let configuration: ServerConfiguration
    private let logger: Logger
    private let databases: Databases
    private let health: HealthService
    private let connections: OpenConnections
    /// The services on the port besides Firestore.
    private let services: [any HTTPService]
    private let executor: LoopExecutor
    private let transport: ServerTransport
    private let token: BearerToken?
    private let tls: TLSCredentials?

    /// Creates a server, which listens after ``run()``.
    ///
    /// - Throws: `failedPrecondition` for a server that is reachable from other machines without
    ///   TLS and a token, and for more databases than the process can open; `invalidArgument` for
    ///   an empty token, for an allowed origin that is none, and for a certificate or key that
    ///   cannot be read.
    public convenience init(
        _ configuration: ServerConfiguration, logger: Logger
    ) throws(LarderError) {
        try self.init(configuration, services: [], logger: logger)
    }

    /// Like ``init(_:logger:)``, with further services on the same port.
    ///
    /// - Parameter services: those of other databases; each opens as many databases as Firestore at
    ///   most, and is closed by the server.
    package init(
        _ configuration: ServerConfiguration, services: [any HTTPService], logger: Logger
    ) throws(LarderError) {
        try configuration.checkToken()
        try configuration.checkExposure()
        try configuration.limits.checkDocumentBytes()
        let files = try Self.connectionFiles(
            besides: configuration.limits.databases * (1 + services.count),
            configuration.limits.connections, logger)
        // Event loops need open files: they are made after the check.
        executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
        self.configuration = configuration
        self.services = services
        self.logger = logger
        connections = OpenConnections(configuration.limits.ofConnections(files: files))
        let limits = configuration.limits
        let ledger = MemoryLedger(limit: max(limits.memoryBytes, 4 * limits.acceptedRequestBytes))
        databases = Databases(
            configuration.storage, limit: limits.databases,
            limitPerAddress: limits.databasesPerAddress, ledger: ledger,
            idleTime: limits.idleTime, documentBytes: limits.documentBytes,
            rules: configuration.rules)
        let monitor = CallMonitor(logger)
        let service = FirestoreService(configuration, databases, monitor)
        let token = BearerToken(configuration.token)
        let access = try configuration.webAccess()
        let refusals = AccessMonitor(logger)
        var metrics = configuration.metricsText
        if let text = metrics {
            let storage = configuration.storage
            metrics = { text() + ServerMetrics.text(ledger, storage) }
        }
        let tls: TLSCredentials? =
            if let tls = configuration.tls {
                try TLSCredentials(certificatePath: tls.certificatePath, keyPath: tls.keyPath)
            } else {
                nil
            }
        (self.token, self.tls) = (token, tls)
        health = HealthService(monitor: monitor)
        let calls = CallContext(
            methods: service.methods + health.methods, token: token, access: access,
            limits: limits, ledger: ledger, executor: executor, connections: connections,
            monitor: refusals)
        transport = ServerTransport(
            HTTPListener(
                MultiThreadedEventLoopGroup.singleton, host: configuration.host,
                port: configuration.port, tls: tls, connections: connections),
            connections, calls,
            HTTPFront(
                access,
                [
                    WebAPI(
                        admin: AdminAPI(
                            databases: databases, streams: service.streams,
                            metrics: metrics),
                        json: JSONAPI(calls: EncodedCalls(service)), token: token,
                        monitor: refusals)
                ] + services, monitor: refusals, log: RequestLog(logger)),
            FaultMonitor(logger))
    }

    /// The number of connections for which the process has files; warns if these are fewer than the
    /// limit of connections.
    ///
    /// - Throws: `failedPrecondition` for more databases than the process can open.
    private static func connectionFiles(
        besides databases: Int, _ limit: Int, _ logger: Logger
    ) throws(LarderError) -> Int {
        try DatabaseCapacity.check(databases: databases)
        let count = DatabaseCapacity.connections(besides: databases)
        if count < limit {
            logger.warning(
                "the limit of open files admits fewer connections than configured: further clients wait",
                metadata: [
                    "connections": "\(count)", "configured": "\(limit)",
                    "databases": "\(databases)",
                ])
        }
        return count
    }

    /// Serves until the task is cancelled or a graceful shutdown begins; then ends all streams and
    /// closes all databases.
    ///
    /// When it returns, acknowledged writes are on disk. The data directory is locked meanwhile.
    ///
    /// - Throws: `unavailable` for an unusable or locked data directory, and if the server cannot
    ///   listen; `dataLoss`, `unavailable` and others from closing databases.
    public func run() async throws {
        let directory: DataDirectory?
        do throws(LarderError) {
            directory = try Self.open(configuration.storage)
        } catch {
            transport.endListening()
            throw error
        }
        let failure = await startAndServe()
        let failures = await databases.close()
        let serviceFailure = await closeServices()
        _ = consume directory
        for (id, error) in failures {
            logger.error(
                "a database could not be closed or exported",
                metadata: ["database": "\(id)", "reason": "\(error)"])
        }
        if let failure { throw failure }
        if let (_, error) = failures.first { throw error }
        if let serviceFailure { throw serviceFailure }
    }

    /// Closes the services that are served besides Firestore.
    ///
    /// - Returns: the first error.
    private func closeServices() async -> LarderError? {
        var failure: LarderError?
        for service in services {
            do throws(LarderError) {
                try await service.close()
            } catch {
                logger.error("a service could not be closed", metadata: ["reason": "\(error)"])
                failure = failure ?? error
            }
        }
        return failure
    }

    private static func open(_ storage: ServerConfiguration.Storage) throws(LarderError)
        -> DataDirectory?
    {
        switch storage {
        case .memory: nil
        case .directory(let path): try DataDirectory(path)
        }
    }

    /// Imports documents, starts the services that are served besides Firestore, and serves.
    ///
    /// - Returns: the error that ended it.
    private func startAndServe() async -> LarderError? {
        do throws(LarderError) {
            try await start()
        } catch {
            transport.endListening()
            return error
        }
        return await serve()
    }

    /// Fills databases from files if the configuration says so, and starts the services, until the
    /// shutdown.
    private func start() async throws(LarderError) {
        let isCancelled = AtomicFlag()
        let result: Result<Void, LarderError> = await withGracefulShutdownHandler {
            do throws(LarderError) {
                if let path = configuration.importPath {
                    try await databases.importDocuments(
                        from: path, configuration.importProgress, isCancelled: isCancelled, logger)
                }
                for service in services { try await service.start(isCancelled: isCancelled) }
                return .success(())
            } catch {
                return .failure(error)
            }
        } onGracefulShutdown: {
            isCancelled.set()
        }
        try result.get()
    }

    /// Serves until the shutdown.
    ///
    /// - Returns: the error that ended it.
    private func serve() async -> LarderError? {
        defer {
            transport.endListening()
            // However a server ends that has listened, its databases are exported.
            if transport.hasListened, let target = configuration.exportTarget {
                databases.export(to: target)
            }
        }
        do {
            try await withGracefulShutdownHandler {
                try await withTaskCancellationHandler {
                    try await transport.serve()
                } onCancel: {
                    stop()
                }
            } onGracefulShutdown: {
                self.stop()
            }
            return nil
        } catch let error as LarderError {
            return error
        } catch {
            // Cancellation can end it with various errors.
            guard !Task.isCancelled else { return nil }
            return LarderError(
                .unavailable,
                "the server cannot listen at \(configuration.host):\(configuration.port): "
                    + Self.reason(ofListening: error),
                cause: error)
        }
    }

    /// Why a port cannot be bound, in words.
    private static func reason(ofListening error: any Error) -> String {
        switch error {
        case let error as IOError where error.errnoCode == EADDRINUSE:
            "another program uses the port"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case SocketAddressError.unknown: "the host has no address"
        default: "\(error)"
        }
    }

    /// Reads the certificate and its key again, for later connections; the former ones stay in use if
    /// they cannot be used.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Returns: true if they have changed.
    package func reloadCertificate() throws(LarderError) -> Bool {
        try tls?.reload() ?? false
    }

    /// Admits another token from now on, and the former one no longer; calls in progress go on.
    ///
    /// - Returns: false if it is the same token, or if the server has none.
    package func replaceToken(with token: String) -> Bool {
        self.token?.replace(with: token) ?? false
    }

    /// The listening port, once the server listens; nil if it never does, or if the task is cancelled
    /// before.
    public var port: Int? {
        get async {
            await transport.address?.port
        }
    }

    /// Refuses calls, ends all streams, and after the grace period closes remaining connections.
    private func stop() {
        health.stop()
        // Before the end of service, after which the databases are closed.
        if let target = configuration.exportTarget { databases.export(to: target) }
        transport.stop()
        let (databases, connections, grace) = (databases, connections, configuration.limits.grace)
        // Closing a connection ends its queries, which closing a database waits for.
        Task {
            async let closing = databases.close()
            async let closingServices = self.closeServices()
            try? await Task.sleep(for: grace)
            connections.close()
            _ = await (closing, closingServices)
        }
    }
}
