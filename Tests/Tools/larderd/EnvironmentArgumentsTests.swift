import ArgumentParser
import Testing

@testable import LarderDaemon

@Suite("Options from the environment")
struct EnvironmentArgumentsTests {
    private func arguments(_ commandLine: [String], _ environment: [String: String]) throws
        -> [String]
    {
        try EnvironmentArguments.arguments(commandLine, environment)
    }

    @Test("every option has a variable")
    func all() {
        let help = LarderDaemon.helpMessage(columns: 200)
        let options = help.split(separator: "\n").compactMap { line -> String? in
            let words = line.split(separator: " ")
            guard let word = words.first(where: { $0.hasPrefix("--") }), line.hasPrefix("  ")
            else { return nil }
            return words.first == word || words.first == "-h," ? String(word.dropFirst(2)) : nil
        }
        #expect(options.count >= 10)
        #expect(Set(options).subtracting(["help", "version"]) == Set(EnvironmentArguments.names))
    }

    @Test(
        "a misspelt option is named, with the one that was probably meant",
        arguments: [
            (["--memroy"], "memory"), (["--memory", "--prot", "1"], "port"),
            (["--data=d", "--tls-kye=k"], "tls-key"),
            (["--data", "--x", "--allow-hosts"], "allow-host"),
            (["--hlep"], "help"),
        ])
    func misspelling(arguments: [String], meant: String) throws {
        let message = try #require(EnvironmentArguments.misspelling(in: arguments))
        #expect(message.hasSuffix(". Did you mean '--\(meant)'?"))
    }

    @Test("what is no option is no misspelling")
    func noMisspelling() {
        for arguments in [
            ["--memory", "--token", "--x"], ["--help"], ["--version"], ["--", "--x"], ["x", "-h"],
            ["--data=--x"],
        ] {
            #expect(EnvironmentArguments.misspelling(in: arguments) == nil, "\(arguments)")
        }
        #expect(
            EnvironmentArguments.misspelling(in: ["--something-else"])
                == "Unknown option '--something-else'.")
    }

    @Test("variables precede the command line")
    func order() throws {
        let environment = [
            "LARDERD_PORT": "9", "LARDERD_TLS_KEY": "-k", "LARDERD_MEMORY": "true",
            "LARDERD_INSECURE": "false", "LARDERD_ALLOW_HOST": "a,b", "LARDERD": "x",
            "LARDERD_OTHER": "y", "PORT": "1",
        ]
        #expect(
            try arguments(["--host", "h"], environment) == [
                "--port=9", "--memory", "--tls-key=-k", "--allow-host=a", "--allow-host=b",
                "--host", "h",
            ])
        #expect(try arguments(["x"], [:]) == ["x"])
    }

    @Test(
        "the command line overrides the environment",
        arguments: [["--port", "1"], ["--port=1"]])
    func overrides(commandLine: [String]) throws {
        #expect(try arguments(commandLine, ["LARDERD_PORT": "2"]) == commandLine)
    }

    @Test("an option of the command line overrides those that exclude it")
    func groups() throws {
        let environment = ["LARDERD_DATA": "d", "LARDERD_TOKEN": "t"]
        #expect(
            try arguments(["--memory", "--token-file=f"], environment)
                == ["--memory", "--token-file=f"])
    }

    @Test("an empty token is kept, so that it is refused")
    func emptyToken() throws {
        let arguments = try arguments(["--memory"], ["LARDERD_TOKEN": ""])
        #expect(arguments == ["--token", "", "--memory"])
        #expect(throws: (any Error).self) { try LarderDaemon.parse(arguments) }
    }

    @Test("a flag is true or false", arguments: ["TRUE", "1", "yes"])
    func flags(value: String) throws {
        #expect(try arguments([], ["LARDERD_MEMORY": value]) == ["--memory"])
        #expect(throws: EnvironmentArguments.Malformed(variable: "LARDERD_MEMORY", value: "on")) {
            try arguments([], ["LARDERD_MEMORY": "on"])
        }
    }
}
