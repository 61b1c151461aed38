import LarderCore
import NIOCore
import Synchronization

#if !Networking
    #error("this product needs the trait Networking of the package larder")
#endif

/// Writes a body to a file while it is received, and stops its client where the disk is slower.
///
/// Confined to the connection's event loop; the file is written on another thread.
final class BodyWriter {
    /// What may wait for the disk before the client is stopped.
    private static let waitingBytes = 256 << 10

    let file: BodyFile
    private let files: BodyFiles
    private let loop: any EventLoop
    /// Called with true to stop the client, with false to let it go on.
    private let pause: (Bool) -> Void
    /// Called after each part that is written.
    private let wrote: (Int) -> Void
    private var waiting = ByteBuffer()
    private var isWriting = false
    private var isPaused = false
    private var failure: LarderError?
    private var completion: ((Result<BodyFile, LarderError>) -> Void)?

    init(
        _ file: BodyFile, of files: BodyFiles, on loop: any EventLoop,
        pause: @escaping (Bool) -> Void, wrote: @escaping (Int) -> Void
    ) {
        self.file = file
        self.files = files
        self.loop = loop
        self.pause = pause
        self.wrote = wrote
    }

    /// Adds a part; what follows a failure is discarded.
    func receive(_ bytes: ByteBuffer) {
        guard failure == nil else { return }
        waiting.writeImmutableBuffer(bytes)
        setPaused(waiting.readableBytes > Self.waitingBytes)
        write()
    }

    /// Calls a closure once everything is written.
    func finish(_ completion: @escaping (Result<BodyFile, LarderError>) -> Void) {
        self.completion = completion
        write()
    }

    /// Ends the writing; the completion is not called.
    func close() {
        completion = nil
        waiting.clear()
        setPaused(false)
    }

    private func setPaused(_ pauses: Bool) {
        guard pauses != isPaused else { return }
        isPaused = pauses
        pause(pauses)
    }

    private func write() {
        guard !isWriting else { return }
        guard failure == nil, waiting.readableBytes > 0 else { return end() }
        isWriting = true
        let bytes = waiting
        waiting = ByteBuffer()
        let bound = NIOLoopBound(self, eventLoop: loop)
        files.writers.perform { [file, loop] in
            let result = bytes.withUnsafeReadableBytes { bytes in
                Result { () throws(LarderError) in try file.open().append(bytes) }
            }
            loop.execute { bound.value.written(bytes.readableBytes, result) }
        }
    }

    private func written(_ count: Int, _ result: Result<Void, LarderError>) {
        isWriting = false
        if case .failure(let error) = result {
            failure = error
            waiting.clear()
        }
        setPaused(waiting.readableBytes > Self.waitingBytes)
        wrote(count)
        write()
    }

    private func end() {
        guard let completion = completion.take() else { return }
        completion(failure.map { .failure($0) } ?? .success(file))
    }
}
