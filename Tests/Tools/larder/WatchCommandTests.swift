import Foundation
import Testing

@testable import LarderTool

@Suite(.timeLimit(.minutes(10))) struct WatchCommandTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Tool.makeStore(in: folder)
    }

    private func watch(_ arguments: String...) throws -> RunningTool {
        try RunningTool(
            ["watch"] + arguments + ["--store", folder.store], in: folder, isLive: true)
    }

    private func run(_ arguments: String...) throws {
        let result = try Tool.run(arguments + ["--store", folder.store], in: folder)
        #expect(result.status == 0, "\(result)")
    }

    @Test func `changes of a query by other processes are lines, until control-C`() throws {
        let tool = try watch("cities", "--where", "population > 1000000", "--select", "population")
        #expect(tool.nextMessage() == "larder: watching cities, 1 document; control-C ends it")
        #expect(tool.nextLine() == #"+ cities/LA  {"population":3900000}"#)
        try run("set", "cities/NY", #"{"population":8000000}"#)
        #expect(tool.nextLine() == #"+ cities/NY  {"population":8000000}"#)
        try run("update", "cities/LA", "population=increment:1")
        #expect(tool.nextLine() == #"~ cities/LA  {"population":3900001}"#)
        try run("update", "cities/SF", "population=5")
        try run("delete", "cities/NY")
        #expect(tool.nextLine() == #"- cities/NY  {"population":8000000}"#)
        try run("pending", "--cancel", "4")
        #expect(tool.nextLine() == #"+ cities/NY  {"population":8000000}"#)
        let file = try folder.file(
            "more.ndjson", #"{"$name":"cities/X","population":2000000}"# + "\n")
        try run("import", file)
        #expect(tool.nextLine() == #"+ cities/X  {"population":2000000}"#)
        tool.send(SIGINT)
        let result = try tool.finish()
        #expect(result.status == 0, "\(result)")
        #expect(result.output == "" && result.messages == "", "\(result)")
    }

    @Test func `a document is watched as it comes, changes and goes`() throws {
        let tool = try watch("people/bob", "--json")
        #expect(tool.nextMessage() == "larder: watching people/bob, 0 documents; control-C ends it")
        try run("set", "people/bob", #"{"a":1}"#)
        #expect(
            tool.nextLine()
                == #"{"change":"added","name":"people/bob","hasPendingWrites":true,"fields":{"a":1}}"#
        )
        try run("set", "people/eve", "{}")
        try run("update", "people/bob", "a=2")
        #expect(
            tool.nextLine()
                == #"{"change":"modified","name":"people/bob","hasPendingWrites":true,"fields":{"a":2}}"#
        )
        try run("delete", "people/bob")
        #expect(
            tool.nextLine()
                == #"{"change":"removed","name":"people/bob","hasPendingWrites":true,"fields":{"a":2}}"#
        )
        tool.send(SIGTERM)
        let result = try tool.finish()
        #expect(result.status == 0, "\(result)")
    }

    @Test func `--new skips existing documents, --count ends after a number of changes`() throws {
        let tool = try watch("cities", "--new", "--count", "2")
        #expect(tool.nextMessage()?.hasPrefix("larder: watching cities, 2 documents") == true)
        try run("update", "cities/SF", "name=SF")
        #expect(tool.nextLine()?.hasPrefix("~ cities/SF  ") == true)
        try run("set", "cities/NY", "{}")
        #expect(tool.nextLine() == "+ cities/NY  {}")
        let result = try tool.finish()
        #expect(result.status == 0 && result.output == "", "\(result)")
        let first = try Tool.run(
            "watch", "cities", "--order", "population", "--count", "1", in: folder)
        #expect(first.lines.count == 1 && first.output.hasPrefix("+ cities/"), "\(first)")
    }

    @Test func `--for ends after a time`() throws {
        let result = try Tool.run("watch", "cities", "--for", "0.05", in: folder)
        #expect(result.status == 0, "\(result)")
        #expect(result.messages.hasPrefix("larder: watching cities, 2 documents"))
    }
}
