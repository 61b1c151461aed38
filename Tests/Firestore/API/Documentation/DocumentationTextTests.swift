import Foundation
import LarderTestSupport
import Testing

/// Every piece of Swift in the articles and the README is code that these tests compile.
@Suite struct DocumentationTextTests {
    @Test("every Swift block is, word for word, a region of the compiled snippets")
    func blocksAreCompiled() throws {
        let regions = try Self.regions()
        var blockCount = 0
        for file in try Self.texts() {
            for block in try Self.blocks(of: file) {
                blockCount += 1
                #expect(
                    regions[block] != nil,
                    "\(file.lastPathComponent) has a block that no snippet has:\n\(block)")
            }
        }
        #expect(blockCount > 20)
    }

    @Test("every region of the snippets is shown somewhere") func regionsAreShown() throws {
        let shown = Set(try Self.texts().flatMap(Self.blocks))
        for (region, name) in try Self.regions() {
            #expect(shown.contains(region), "nothing shows the snippet '\(name)'")
        }
    }

    private static let root = PackageDirectory.url

    /// The README, all articles, and the sources of the public module with their comments.
    private static func texts() throws -> [URL] {
        let sources = root.appending(path: "Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
        let files = paths.filter {
            $0.hasSuffix(".md") || ($0.hasPrefix("Firestore/API/") && $0.hasSuffix(".swift"))
        }
        return [root.appending(path: "README.md")]
            + files.sorted().map { sources.appending(path: $0) }
    }

    /// The Swift blocks of an article, or of the comments of a source file.
    private static func blocks(of file: URL) throws -> [String] {
        var lines = try lines(of: file)
        if file.pathExtension == "swift" {
            lines = lines.compactMap { line in
                guard let comment = line.firstRange(of: "///") else { return nil }
                return String(line[comment.upperBound...].dropFirst())
            }
        }
        return pieces(of: lines, from: { $0 == "```swift" }, to: "```").map(\.text)
    }

    /// The regions of the snippet files beside this one, with their names.
    private static func regions() throws -> [String: String] {
        let tests = root.appending(path: "Tests")
        let files = try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        var regions: [String: String] = [:]
        for file in files where file.hasSuffix("Snippets.swift") {
            let lines = try lines(of: tests.appending(path: file))
            for piece in pieces(of: lines, from: { $0.hasPrefix("// snippet: ") }, to: "// end") {
                regions[piece.text] = String(piece.opening.dropFirst("// snippet: ".count))
            }
        }
        return regions
    }

    /// What stands between opening and closing lines, moved to the left as far as it goes.
    private static func pieces(
        of lines: [String], from isOpening: (Substring) -> Bool, to closing: String
    ) -> [(opening: Substring, text: String)] {
        var pieces: [(opening: Substring, text: String)] = []
        var open: (opening: Substring, lines: [String])?
        for line in lines {
            let text = line.drop { $0 == " " }
            if let current = open, text == closing {
                pieces.append((current.opening, aligned(current.lines)))
                open = nil
            } else if open != nil {
                open?.lines.append(line)
            } else if isOpening(text) {
                open = (text, [])
            }
        }
        return pieces
    }

    private static func aligned(_ lines: [String]) -> String {
        let indents = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
        let indent = indents.min() ?? 0
        return lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
    }

    private static func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    }
}
