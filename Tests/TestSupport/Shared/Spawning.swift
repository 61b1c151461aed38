package import Foundation
import Synchronization

/// Starts a program, with signals as a shell gives them to its children.
///
/// Not with Foundation's `Process`: that of Swift 6.3 reads behind the list of open files, which ends the
/// tests now and then (pull request 5472 of swift-corelibs-foundation), leaks, and passes the signal mask
/// of its thread on.
///
/// The program gets no other open file: it would keep sockets open, and ports taken, that the tests
/// close while it runs (NIO sets no `FD_CLOEXEC`).
///
/// - Parameter setFiles: says what the program's standard input and output are.
package func spawn(
    _ executable: String, _ arguments: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment,
    _ setFiles: (inout posix_spawn_file_actions_t) -> Void
) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    setFiles(&actions)
    #if os(Linux)
        _ = closeFrom?(&actions, 3)
    #endif

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (blocked, standard) = (sigset_t(), sigset_t())
    sigemptyset(&blocked)
    sigemptyset(&standard)
    for number in [SIGPIPE, SIGINT, SIGTERM] { sigaddset(&standard, number) }
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setsigdefault(&attributes, &standard)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var words = ([executable] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in words + variables { free(text) } }
    var process: pid_t = 0
    let status = spawning.withLock { _ in
        posix_spawn(&process, executable, &actions, &attributes, &words, &variables)
    }
    guard status == 0 else { throw SpawnFailure(executable: executable, code: status) }
    return process
}

#if os(Linux)
    /// Adds to a program's start that it closes its files from a number on; Swift does not see this
    /// extension of glibc 2.34.
    private let closeFrom = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32)?
            .self)
#endif

/// Held while a program is started.
private let spawning = Mutex(())

/// Waits until the programs that are being started run.
///
/// Until then they have all files of this process open: a port at which something listened when they
/// were started cannot be bound again.
package func waitForSpawns() {
    spawning.withLock { _ in }
}

/// Waits for the end of a process.
///
/// - Returns: its exit status, or 128 and the number of the signal that ended it.
package func waitForEnd(of process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let signal = status & 0x7F
    return signal == 0 ? status >> 8 & 0xFF : 128 + signal
}

/// A program that cannot be started.
private struct SpawnFailure: Error, CustomStringConvertible {
    let executable: String
    let code: Int32

    var description: String { "cannot run \(executable): \(String(cString: strerror(code)))" }
}
