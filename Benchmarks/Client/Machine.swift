import Foundation

/// Where and with what the figures were measured.
enum Machine {
    static func facts(_ options: Options) -> [(name: String, text: String)] {
        [
            ("processor", "\(processor), \(ProcessInfo.processInfo.activeProcessorCount) in use"),
            ("system", ProcessInfo.processInfo.operatingSystemVersionString),
            ("load at the start", line(of: "/proc/loadavg")),
            ("floor", "raw LMDB, a hand-written C loop, records decoded whole"),
            ("GRDB", "JSON in SQLite through GRDB, JSONDecoder into a struct"),
            ("rounds", "\(options.rounds), systems in turn"),
        ]
    }

    private static var processor: String {
        let text = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return model?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
            ?? "not known"
    }

    private static func line(of path: String) -> String {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text?.trimmingCharacters(in: .newlines) ?? "not known"
    }
}
