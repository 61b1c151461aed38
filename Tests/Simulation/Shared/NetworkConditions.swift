/// The conditions between one client and its server: latencies, and disturbances for a while.
package final class NetworkConditions {
    /// A disturbance, or none.
    package enum Weather {
        /// Messages arrive.
        case clear
        /// No message arrives, and neither end is notified.
        case silent
        /// Connections end, and no new ones are made.
        case refusing
    }

    /// A change of the conditions.
    package enum Change {
        /// A disturbance has begun, for a time.
        case disturbed(Weather, Duration)
        /// A silence lasts longer than clients wait for an answer; connections are to end.
        case timedOut
        /// The disturbance has ended.
        case cleared
    }

    /// The time for which a connection that does not answer is kept.
    package static let patience = Duration.seconds(30)

    private let events: EventQueue
    private let chance: Chance
    private let typicalLatency: Duration
    private var weather = Weather.clear
    private var weatherNumber = 0
    /// Called with each change.
    package var observer: (Change) -> Void = { _ in }

    /// Clear conditions with a random latency.
    package init(events: EventQueue, chance: Chance) {
        (self.events, self.chance) = (events, chance)
        typicalLatency = chance.duration(.microseconds(100)...(.milliseconds(100)))
    }

    package var isSilent: Bool { weather == .silent }
    package var isRefusing: Bool { weather == .refusing }

    /// The latency of a message.
    package func latency() -> Duration {
        chance.duration(typicalLatency...(typicalLatency * (chance.oneIn(20) ? 50 : 3)))
    }

    /// Disturbs the network for a while.
    package func disturb(_ weather: Weather, for duration: Duration) {
        clear()
        weatherNumber += 1
        let number = weatherNumber
        self.weather = weather
        if weather == .clear { return }
        observer(.disturbed(weather, duration))
        if weather == .silent, duration > Self.patience { timeOut(number) }
        events.schedule(after: duration) {
            if self.weatherNumber == number { self.clear() }
        }
    }

    private func timeOut(_ number: Int) {
        events.schedule(after: Self.patience) { [self] in
            guard weatherNumber == number, isSilent else { return }
            observer(.timedOut)
            timeOut(number)
        }
    }

    /// Ends the disturbance; messages arrive again.
    package func clear() {
        weatherNumber += 1
        guard weather != .clear else { return }
        weather = .clear
        observer(.cleared)
    }
}
