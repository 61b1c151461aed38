import Foundation
package import Logging

/// What an application may have overlooked about a shared database, logged when it opens.
package enum OpeningNote: Hashable, Sendable {
    /// The database has no backend, although the application evidently meant one.
    case noBackend(evidence: String)
    /// No project was named, so that the database is that of the placeholder.
    case placeholderProject(hasBackend: Bool)

    /// The circumstances in which a shared database opens.
    package struct Circumstances {
        /// The project.
        package var project: String
        /// True if a backend or a connector was named.
        package var hasBackend: Bool
        /// True if the application named a host, as by `useEmulator(withHost:port:)`.
        package var namesHost: Bool
        /// The environment variable that names an emulator of the database's kind.
        package var emulatorVariable: String
        /// The environment.
        package var environment = ProcessInfo.processInfo.environment

        /// The circumstances in this process.
        package init(
            project: String, hasBackend: Bool, namesHost: Bool, emulatorVariable: String
        ) {
            self.project = project
            self.hasBackend = hasBackend
            self.namesHost = namesHost
            self.emulatorVariable = emulatorVariable
        }

        private func isSet(_ variable: String) -> Bool {
            environment[variable].map { !$0.isEmpty } ?? false
        }

        /// What suggests that a backend was meant; nil for nothing.
        var evidence: String? {
            if namesHost { return "a host or an emulator was named" }
            for variable in [emulatorVariable, "GOOGLE_APPLICATION_CREDENTIALS"]
            where isSet(variable) {
                return "\(variable) is set"
            }
            return project == FirebaseOptions.placeholderProjectID
                ? nil : "the project '\(project)' was named"
        }
    }

    /// The notes that apply.
    package static func notes(in circumstances: Circumstances) -> [OpeningNote] {
        let hasBackend = circumstances.hasBackend
        var notes: [OpeningNote] = []
        if !hasBackend, let evidence = circumstances.evidence {
            notes.append(.noBackend(evidence: evidence))
        }
        if circumstances.project == FirebaseOptions.placeholderProjectID {
            notes.append(.placeholderProject(hasBackend: hasBackend))
        }
        return notes
    }

    /// The severity: without a backend, the name of the project makes no difference.
    package var level: Logger.Level {
        switch self {
        case .noBackend, .placeholderProject(hasBackend: true): .warning
        case .placeholderProject(hasBackend: false): .notice
        }
    }

    /// The message.
    package var text: String {
        switch self {
        case .noBackend(let evidence):
            """
            The database has no backend, although \(evidence): it reads from its cache only, and \
            writes wait. Call useBackend before the first use.
            """
        case .placeholderProject:
            """
            No project was named, so the database is that of the project \
            '\(FirebaseOptions.placeholderProjectID)'. Name one in the environment \
            (GOOGLE_CLOUD_PROJECT), in GoogleService-Info.plist or by \
            FirebaseApp.configure(options:).
            """
        }
    }
}

extension Logger {
    /// Logs the notes that apply to a shared database that opens.
    package func note(_ circumstances: OpeningNote.Circumstances) {
        for note in OpeningNote.notes(in: circumstances) {
            log(level: note.level, "\(note.text)")
        }
    }
}
