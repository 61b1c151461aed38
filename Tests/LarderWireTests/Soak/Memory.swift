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
