import ArgumentParser
import Larder
import LarderModel

/// The common part of `count`, `sum`, `avg`, `min` and `max`: one aggregation over a query.
protocol AggregateCommand: AsyncParsableCommand {
    var query: QueryOptions { get }
    var options: DatabaseOptions { get }
}

extension AggregateCommand {
    func print(_ field: AggregateField, named name: String, of path: String?) async throws {
        let parsed = try query.parsed(options.databaseID)
        let output = Output.standard()
        try await options.withDatabase(.readOnly, about: query.subject) { firestore in
            let question = try parsed.query(
                UserValues(firestore: firestore, databaseID: options.databaseID))
            let snapshot = try await question.aggregate([field]).getAggregation(source: .cache)
            let value = snapshot.value(field) ?? .null
            if options.json {
                output.line(report(value, named: name, of: path))
            } else {
                output.line(FieldText.text(of: value))
            }
        }
        try output.flush()
    }

    private func report(_ value: Value, named name: String, of path: String?) -> JSONReport {
        [
            "collection": .string(query.collection),
            "aggregate": .string(name),
            "field": path.map { .string($0) } ?? .null,
            "value": .value(value),
        ]
    }

    static func field(_ text: String) throws -> LarderModel.FieldPath {
        do throws(LarderError) {
            return try LarderModel.FieldPath(canonical: text)
        } catch {
            throw ToolError(.usage, error.message, hint: "specify a field, e.g. population")
        }
    }
}

/// `larder count`: the number of documents that match.
struct CountCommand: AggregateCommand {
    static let configuration = CommandConfiguration(
        commandName: "count",
        abstract: "Counts the documents that match a query.",
        discussion: """
            The query is given as for 'larder query'.

            EXAMPLES
              larder count cities
              larder count cities --where 'population > 1000000'
            """)

    @OptionGroup var query: QueryOptions
    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await print(.count(), named: "count", of: nil)
    }
}

protocol FieldAggregateCommand: AggregateCommand {
    static var name: String { get }
    static func aggregate(_ path: Larder.FieldPath) -> AggregateField
    var field: String { get }
}

extension FieldAggregateCommand {
    static func described(_ abstract: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: name, abstract: abstract,
            discussion: """
                The query is given as for 'larder query'.

                EXAMPLES
                  larder \(name) cities population
                  larder \(name) cities population --where 'country == FR'
                """)
    }

    func run() async throws {
        let path = try Self.field(field)
        try await print(
            Self.aggregate(Larder.FieldPath(path.segments)), named: Self.name,
            of: path.canonicalString)
    }
}

/// `larder sum`: the sum of a field's numbers.
struct SumCommand: FieldAggregateCommand {
    static let name = "sum"
    static let configuration = described(
        "Sums a field over the documents that match a query; 0 if there are no numbers.")

    @OptionGroup var query: QueryOptions
    @Argument(help: "The field.") var field: String
    @OptionGroup var options: DatabaseOptions

    static func aggregate(_ path: Larder.FieldPath) -> AggregateField { .sum(path) }
}

/// `larder avg`: the average of a field's numbers.
struct AverageCommand: FieldAggregateCommand {
    static let name = "avg"
    static let configuration = described(
        "Averages a field over the documents that match a query; null if there are no numbers.")

    @OptionGroup var query: QueryOptions
    @Argument(help: "The field.") var field: String
    @OptionGroup var options: DatabaseOptions

    static func aggregate(_ path: Larder.FieldPath) -> AggregateField { .average(path) }
}

/// `larder min`: the first value of a field in Firestore's order.
struct MinimumCommand: FieldAggregateCommand {
    static let name = "min"
    static let configuration = described(
        "Prints the smallest value of a field over the documents that match a query; null if there is none."
    )

    @OptionGroup var query: QueryOptions
    @Argument(help: "The field.") var field: String
    @OptionGroup var options: DatabaseOptions

    static func aggregate(_ path: Larder.FieldPath) -> AggregateField { .minimum(path) }
}

/// `larder max`: the last value of a field in Firestore's order.
struct MaximumCommand: FieldAggregateCommand {
    static let name = "max"
    static let configuration = described(
        "Prints the largest value of a field over the documents that match a query; null if there is none."
    )

    @OptionGroup var query: QueryOptions
    @Argument(help: "The field.") var field: String
    @OptionGroup var options: DatabaseOptions

    static func aggregate(_ path: Larder.FieldPath) -> AggregateField { .maximum(path) }
}
