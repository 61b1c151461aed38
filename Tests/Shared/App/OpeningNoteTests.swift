import LarderApp
import Logging
import Testing

@Suite("Notes on opening a shared database")
struct OpeningNoteTests {
    private func notes(
        _ project: String, hasBackend: Bool = false, namesHost: Bool = false,
        _ environment: [String: String] = [:]
    ) -> [OpeningNote] {
        var circumstances = OpeningNote.Circumstances(
            project: project, hasBackend: hasBackend, namesHost: namesHost,
            emulatorVariable: "FIRESTORE_EMULATOR_HOST")
        circumstances.environment = environment
        return OpeningNote.notes(in: circumstances)
    }

    @Test("A database with a project and a backend needs no notes")
    func nothing() {
        #expect(
            notes("shop", hasBackend: true, namesHost: true, ["FIRESTORE_EMULATOR_HOST": "h:1"])
                .isEmpty)
    }

    @Test(
        "Whatever suggests a backend is named when there is none",
        arguments: ["FIRESTORE_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS"])
    func variables(_ variable: String) {
        let placeholder = OpeningNote.placeholderProject(hasBackend: false)
        #expect(
            notes("demo-larder", [variable: "x"])
                == [.noBackend(evidence: "\(variable) is set"), placeholder])
        #expect(notes("demo-larder", [variable: ""]) == [placeholder])
    }

    @Test("A project and a host suggest a backend; the host comes first")
    func projectAndHost() {
        #expect(notes("shop") == [.noBackend(evidence: "the project 'shop' was named")])
        #expect(
            notes("shop", namesHost: true)
                == [.noBackend(evidence: "a host or an emulator was named")])
    }

    @Test("The project demo-larder is a warning with a backend, a notice without")
    func placeholder() throws {
        let note = try #require(notes("demo-larder", hasBackend: true).first)
        #expect(note.level == .warning && note.text.contains("'demo-larder'"))
        #expect(notes("demo-larder").map(\.level) == [.notice])
        #expect(notes("shop").map(\.level) == [.warning])
    }
}

@Suite("Log levels in Firebase's terms")
struct FirebaseConfigurationTests {
    @Test("Each level sets that of shared databases")
    func levels() {
        let configuration = FirebaseConfiguration.shared
        #expect(configuration.loggerLevel() == .warning)
        defer { configuration.setLoggerLevel(.warning) }
        let levels: [Logger.Level] = [.error, .warning, .notice, .info, .debug]
        for (level, expected) in zip(FirebaseLoggerLevel.allCases, levels) {
            configuration.setLoggerLevel(level)
            #expect(configuration.loggerLevel() == level && configuration.logLevel == expected)
        }
        #expect(FirebaseLoggerLevel.min == .error && FirebaseLoggerLevel.max == .debug)
        #expect(FirebaseVersion().contains("."))
    }
}
