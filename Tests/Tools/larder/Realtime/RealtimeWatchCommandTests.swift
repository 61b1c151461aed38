import Foundation
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct RealtimeWatchCommandTests {
    let store: RealtimeToolFolder

    init() throws {
        store = try RealtimeToolFolder()
        try store.importScores()
    }

    @Test func `children are printed in the order of the query, until a number of events`() throws {
        let result = try store.run(
            "watch", "scores", "--order-by-value", "--limit-to-last", "3", "--children",
            "--count", "3")
        #expect(result.status == 0, "\(result)")
        #expect(
            result.lines == ["+ bruhathkayosaurus  55", "+ linhenykus  80", "+ pterodactyl  93"])
        #expect(result.messages == "larder: watching scores; control-C ends it\n")
    }

    @Test func `--json prints events of children with their previous sibling`() throws {
        let result = try store.run(
            "watch", "scores", "--order-by-value", "--limit-to-last", "2", "--children",
            "--count", "2", "--json")
        #expect(
            result.lines == [
                #"{"event":"child_added","key":"linhenykus","previousKey":null,"value":80}"#,
                #"{"event":"child_added","key":"pterodactyl","previousKey":"linhenykus","value":93}"#,
            ])
    }

    /// The first result that is complete of a command that ends after a second, or after a longer
    /// time on a busy machine.
    private func firstResult(
        of command: (_ seconds: String) throws -> ToolResult,
        where isComplete: (ToolResult) -> Bool
    ) throws -> ToolResult {
        for seconds in ["1", "4", "16"] {
            let result = try command(seconds)
            if result.status != 0 || isComplete(result) { return result }
        }
        return try command("64")
    }

    @Test func `all data is one event, --for ends after a time`() throws {
        let result = try firstResult {
            try store.run("watch", "scores", "--for", $0)
        } where: {
            !$0.lines.isEmpty
        }
        #expect(result.status == 0, "\(result)")
        #expect(result.lines == [RealtimeToolFolder.scores])
        let json = try store.run("watch", "scores/pterodactyl", "--count", "1", "--json").json()
        #expect(json["value"] as? Int == 93 && json["isComplete"] as? Bool == true)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends it with success`(signal: Int32) throws {
        let tool = try RunningTool(
            ["rtdb", "watch", ".info/connected", "--store", store.folder.store],
            in: store.folder, isLive: true)
        #expect(tool.nextMessage() == "larder: watching .info/connected; control-C ends it")
        var line = tool.nextLine()
        while line == "false" { line = tool.nextLine() }
        #expect(line == "true")
        tool.send(signal)
        let result = try tool.finish()
        #expect(result.status == 0 && result.output == "", "\(result)")
    }

    @Test func `pending writes that a backend answers are seen as they change`() async throws {
        let store = try RealtimeToolFolder()
        try await store.cacheBestScores(4)
        try store.output("set", "scores/new", "100")
        // The backend is empty: it takes the write, and has no other scores.
        let backend = store.folder.path + "/other"
        let other = try RealtimeToolFolder()
        try other.output("import", "-", "--backend", backend, input: "null")
        var pending = ""
        let isNew = { (line: String) in
            line.contains(#""child_added""#) && line.contains(#""new""#)
        }
        let result = try firstResult {
            let result = try store.run(
                "watch", "scores", "--children", "--backend", backend, "--for", $0, "--json")
            pending = try store.run("pending").messages
            return result
        } where: {
            $0.lines.contains(where: isNew) && pending == "larder: no pending writes\n"
        }
        #expect(result.status == 0, "\(result)")
        #expect(result.lines.contains(where: isNew), "\(result)")
        #expect(pending == "larder: no pending writes\n")
    }
}
