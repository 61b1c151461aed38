import Dispatch
import Foundation
import LarderHTTP
import LarderModel
import LarderRealtimeServer
import LarderServer
import Logging
import ServiceLifecycle

/// The signals SIGHUP of the process, which otherwise ignores them.
///
/// Several that arrive while one is served are one.
final class ReloadSignals: Sendable {
    let stream: AsyncStream<Void>
    // Kept alive, and not used again.
    nonisolated(unsafe) private let source: any DispatchSourceSignal

    init() {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.stream = stream
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .global())
        source.setEventHandler { continuation.yield() }
        source.activate()
    }
}

/// Reads the certificate, the token, the rules and the keys of users again at each SIGHUP, and logs
/// what has changed.
///
/// If a file cannot be read or used, the former setting stays in use and an error is logged.
struct Reloading: Service {
    let signals: ReloadSignals
    let server: Server
    let realtime: RealtimeEndpoint
    let security: SecurityOptions
    let rules: RulesOptions
    let logger: Logger
    let manager = ServiceManager()
    /// Reads files, which may block: a pipe without a writer does.
    let readers = WorkPool("larderd.reload", limit: 1)

    func run() async throws {
        if await cancelWhenGracefulShutdown({ await server.port }) != nil {
            for await _ in signals.stream.cancelOnGracefulShutdown() {
                // A shutdown does not wait for it.
                let (ends, end) = AsyncStream.makeStream(of: Never.self)
                Task {
                    await reload()
                    end.finish()
                }
                for await _ in ends.cancelOnGracefulShutdown() {}
            }
        }
        // The group shuts down when a service returns.
        try? await gracefulShutdown()
    }

    private func reload() async {
        manager.report(.reloading, monotonicTime: true)
        var changed: [String] = []
        func reload(_ name: String, _ body: () async throws(LarderError) -> Bool) async {
            do throws(LarderError) {
                if try await body() { changed.append(name) }
            } catch {
                logger.error(
                    "cannot be read again and stays as it was",
                    metadata: ["what": "\(name)", "reason": "\(error.message)"])
            }
        }
        await reload("certificate") { () async throws(LarderError) in
            try await readers.run { () throws(LarderError) in try server.reloadCertificate() }
        }
        await reload("token") { () async throws(LarderError) in
            guard security.tokenFile != nil,
                let token = try await readers.run({ () throws(LarderError) in
                    try security.readToken()
                })
            else { return false }
            let isNew = server.replaceToken(with: token)
            return realtime.replaceToken(with: token) || isNew
        }
        await reload("rules") { () async throws(LarderError) in
            let new = try await readers.run { () throws(LarderError) in try rules.read() }
            return try await realtime.replaceRules(with: new)
        }
        await reload("keys of users") { () async throws(LarderError) in
            try await realtime.reloadKeys()
        }
        let text = changed.isEmpty ? "nothing has changed" : changed.joined(separator: ", ")
        logger.notice("SIGHUP: files were read again", metadata: ["changed": "\(text)"])
        manager.report(.ready)
    }
}
