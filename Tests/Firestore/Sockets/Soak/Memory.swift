import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// What the process occupies.
enum Memory {
    /// Bytes of memory that are in use, after what is free was given back; nil where the system does
    /// not say.
    static var residentBytes: Int? {
        giveBack()
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else {
            return nil
        }
        let fields = text.split(separator: " ")
        guard fields.count > 2, let all = Int(fields[1]), let shared = Int(fields[2]) else {
            return nil
        }
        // Pages of files are the kernel's to take back.
        return (all - shared) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Bytes that are allocated and not freed; nil where the C library does not say.
    ///
    /// What leaks is seen here first: the pages of ``residentBytes`` also have what is free beside
    /// something that lives.
    static var allocatedBytes: Int? {
        #if canImport(Glibc)
            typealias Info = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
            guard let symbol = dlsym(nil, "malloc_info") else { return nil }
            var (text, size) = (UnsafeMutablePointer<CChar>?.none, 0)
            guard let stream = open_memstream(&text, &size) else { return nil }
            let status = unsafeBitCast(symbol, to: Info.self)(0, stream)
            fclose(stream)
            defer { free(text) }
            guard status == 0, let text else { return nil }
            return allocatedBytes(in: String(cString: text))
        #else
            return nil
        #endif
    }

    /// What the text of `malloc_info` says at its end, where the sums of all its arenas are.
    private static func allocatedBytes(in text: String) -> Int? {
        func last(_ element: String) -> Int? {
            guard let range = text.range(of: "<\(element) ", options: .backwards),
                let size = text[range.upperBound...].firstRange(of: "size=\"")
            else { return nil }
            return Int(text[size.upperBound...].prefix { $0.isNumber })
        }
        guard let system = last("system type=\"current\""),
            let mapped = last("total type=\"mmap\""),
            let fast = last("total type=\"fast\""), let free = last("total type=\"rest\"")
        else { return nil }
        return system + mapped - fast - free
    }

    /// Keeps Swift Testing from keeping a backtrace of each error that is thrown until the test
    /// ends, which in an hour of failing connections is most of the memory.
    static func keepNoBacktraces() {
        for name in ["_swift_willThrow", "_swift_willThrowTypedImpl"] {
            guard let handler = dlsym(nil, name) else { continue }
            handler.assumingMemoryBound(to: UnsafeRawPointer?.self).pointee = nil
        }
    }

    /// Gives memory back that is free, where the C library can: it is in no header of Swift's.
    private static func giveBack() {
        #if canImport(Glibc)
            typealias Trim = @convention(c) (Int) -> Int32
            guard let symbol = dlsym(nil, "malloc_trim") else { return }
            _ = unsafeBitCast(symbol, to: Trim.self)(0)
        #endif
    }

    /// How many files, sockets among them, are open; nil where the system does not say.
    static var openFileCount: Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count
    }
}
