import ArgumentParser
import LarderModel
import LarderStorage

/// `larder stat`: what is in the store, and what it costs.
struct StatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Prints the store's figures.",
        discussion: """
            Bytes of a category are what its rows occupy in pages of the data file; their sum is \
            what a budget is compared with. The budget is an option of each process that opens \
            the store and is not kept in it.

            EXAMPLES
              larder stat
              larder stat --json | jq .totalBytes
            """)

    @OptionGroup var options: StoreOptions

    func run() throws {
        let output = Output.standard()
        try options.describingErrors {
            let store = try options.open(.readOnly)
            let figures = try StoreFigures(store)
            try store.close()
            if options.json {
                output.line(figures.report)
            } else {
                output.line("store \(options.directory)")
                for line in figures.lines { output.line(line) }
            }
        }
        try output.flush()
    }
}
