// A stand-in for compiled Soufflé: the rules of benchmarks/souffle.py as a C++ program.
//
// What it is: our own program, written by hand after the published description of how Soufflé compiles rules (Jordan,
// Scholz, Subotić, CAV 2016; Subotić et al., PVLDB 2018, for the choice of indexes). Strata in order; in a recursive
// one, each relation has a full, a delta and a new version. Each rule is a nested loop: one scan, look-ups of ranges in
// ordered indexes, the check that the head is unknown before it is inserted. A rule with k recursive atoms has k
// versions; in the i-th, atom i reads the delta, and atoms after it skip the delta. A rule with three heads is three
// rules. A relation has as few B-trees as its look-ups need column orders, and a rule runs only if no relation that it
// reads is empty. Symbols are 32-bit numbers. One thread.
//
// What it is not: Soufflé. B-trees are Abseil's, whose nodes are as large as Soufflé's, without the hints by which
// Soufflé starts a look-up at the leaf of the last one, and without its locks. Soufflé's own figures may be better or
// worse.
//
// Join orders: `text` takes atoms as the rules have them, as Soufflé does without .plan. The others start with the
// delta, as one would write with .plan. From new facts of fields, `plan-base` goes on with variables that point to the
// object, and `plan-field` with loads of the field; `plan-calls` has the order of the text for loads and stores.
//
// points_to FOLDER text|plan-base|plan-field|plan-calls: prints a line of JSON with the seconds to read the
// .facts files and to evaluate, the CPU seconds of the latter, and the sizes of the derived relations.

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>
#include <absl/strings/string_view.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include <tuple>
#include <type_traits>
#include <utility>

using Id = uint32_t;
template <size_t N>
using Tuple = std::array<Id, N>;

// Lexicographic order by these columns first to last, compared as one number.
template <size_t... Columns>
struct Order {
    using Packed = std::conditional_t<sizeof...(Columns) <= 2, uint64_t, unsigned __int128>;

    template <size_t N>
    static Packed packed(const Tuple<N>& tuple) {
        Packed value = 0;
        ((value = (value << 32) | tuple[Columns]), ...);
        return value;
    }

    template <size_t N>
    bool operator()(const Tuple<N>& a, const Tuple<N>& b) const {
        static_assert(sizeof...(Columns) == N);
        return packed(a) < packed(b);
    }
};

// One B-tree per column order; the first one decides whether a tuple is new.
template <size_t N, class... Orders>
struct Relation {
    std::tuple<absl::btree_set<Tuple<N>, Orders>...> trees;

    template <size_t I = 0>
    auto& tree() { return std::get<I>(trees); }
    auto begin() { return tree().begin(); }
    auto end() { return tree().end(); }
    size_t size() { return tree().size(); }
    bool empty() { return tree().empty(); }
    bool contains(const Tuple<N>& tuple) { return tree().contains(tuple); }

    void insert(const Tuple<N>& tuple) {
        if (tree().insert(tuple).second) insert_others(tuple, std::make_index_sequence<sizeof...(Orders) - 1>());
    }

    // Every tree is filled in its own order.
    void insert_all(Relation& other) { insert_trees(other, std::make_index_sequence<sizeof...(Orders)>()); }

    void clear() {
        std::apply([](auto&... tree) { (tree.clear(), ...); }, trees);
    }

    // The tuples that have these values in these columns; the columns are a prefix of order I.
    template <size_t I, size_t... Columns, class... Values>
    auto range(std::index_sequence<Columns...>, Values... values) {
        Tuple<N> low{};
        ((low[Columns] = values), ...);
        return Range<I, Columns...>{tree<I>().lower_bound(low), tree<I>().end(), low};
    }

private:
    // Ends at the first tuple with other values: a second descent for the upper bound would take longer.
    template <size_t I, size_t... Columns>
    struct Range {
        using Inner = typename std::tuple_element_t<I, decltype(trees)>::iterator;
        struct End {};
        struct Iterator {
            Inner at, last;
            const Tuple<N>& wanted;
            const Tuple<N>& operator*() const { return *at; }
            void operator++() { ++at; }
            bool operator!=(End) const { return at != last && (((*at)[Columns] == wanted[Columns]) && ...); }
        };
        Inner first, last;
        Tuple<N> wanted;
        Iterator begin() const { return {first, last, wanted}; }
        End end() const { return {}; }
        bool empty() const { return !(begin() != end()); }
    };

    template <size_t... Is>
    void insert_others(const Tuple<N>& tuple, std::index_sequence<Is...>) {
        (tree<Is + 1>().insert(tuple), ...);
    }

    template <size_t... Is>
    void insert_trees(Relation& other, std::index_sequence<Is...>) {
        (tree<Is>().insert(other.template tree<Is>().begin(), other.template tree<Is>().end()), ...);
    }
};

template <size_t... Columns>
constexpr std::index_sequence<Columns...> by{};

// The versions of a relation of a recursive stratum.
template <class Stored>
struct Recursive {
    Stored full, delta, fresh;

    // A head: what is unknown is new.
    template <size_t N>
    void derive(const Tuple<N>& tuple) {
        if (!full.contains(tuple)) fresh.insert(tuple);
    }
    void start() { delta.insert_all(full); }
    bool next_round() {
        full.insert_all(fresh);
        std::swap(delta, fresh);
        fresh.clear();
        return !delta.empty();
    }
};

struct SymbolTable {
    absl::flat_hash_map<std::string, Id> ids;

    Id id(absl::string_view text) {
        auto found = ids.find(text);
        if (found != ids.end()) return found->second;
        return ids.emplace(std::string(text), static_cast<Id>(ids.size())).first->second;
    }
};

template <size_t N, class Stored>
void read(const std::string& folder, const char* name, SymbolTable& symbols, Stored& stored, int number = -1) {
    std::ifstream file(folder + "/" + name + ".facts", std::ios::binary);
    std::string line;
    while (std::getline(file, line)) {
        Tuple<N> tuple;
        size_t start = 0;
        for (size_t column = 0; column < N; column++) {
            size_t end = column + 1 < N ? line.find('\t', start) : line.size();
            absl::string_view cell = absl::string_view(line).substr(start, end - start);
            tuple[column] = static_cast<int>(column) == number ? static_cast<Id>(std::atoi(line.c_str() + start))
                                                               : symbols.id(cell);
            start = end + 1;
        }
        stored.insert(tuple);
    }
}

enum class Plan { text, base, field, calls };

// The indexes of `text` are those that its look-ups need, and so for the other orders.
template <Plan P>
struct Analysis {
    static constexpr bool planned = P != Plan::text;
    static constexpr bool by_base = P == Plan::base;
    static constexpr bool by_field = P == Plan::field;
    static constexpr bool fields_planned = by_base || by_field;
    template <class InText, class InPlan>
    using Either = std::conditional_t<planned, InPlan, InText>;

    // Inputs.
    Relation<3, Order<2, 0, 1>> allocation;                                            // var, heap, method
    Relation<2, Order<0, 1>> move;                                                     // to, from
    std::conditional_t<by_field, Relation<3, Order<1, 2, 0>, Order<2, 1, 0>>,
        std::conditional_t<by_base, Relation<3, Order<1, 2, 0>>, Relation<3, Order<0, 1, 2>>>> load;                     // to, base, field
    std::conditional_t<fields_planned, Relation<3, Order<0, 1, 2>, Order<2, 0, 1>>,
                       Relation<3, Order<0, 1, 2>>> store;  // base, field, from
    Either<Relation<4, Order<0, 1, 2, 3>>, Relation<4, Order<0, 1, 2, 3>, Order<3, 0, 1, 2>>>
        virtual_call;                                                                  // base, signature, call, method
    Relation<2, Order<0, 1>> heap_type;                                                // heap, type
    Relation<3, Order<0, 1, 2>> declares;                                              // type, signature, method
    Either<Relation<2, Order<0, 1>>, Relation<2, Order<1, 0>>> extends;                // type, super
    Relation<3, Order<0, 1, 2>> formal;                                                // method, n, var
    Relation<3, Order<0, 1, 2>> actual;                                                // invocation, n, var
    Relation<2, Order<0, 1>> self;                                                     // method, var
    Relation<1, Order<0>> entry;

    // Derived.
    Recursive<Relation<3, Order<0, 1, 2>>> lookup;
    Recursive<Relation<1, Order<0>>> reachable;
    Recursive<Relation<2, Order<0, 1>>> call_graph;
    Recursive<std::conditional_t<by_base, Relation<2, Order<0, 1>, Order<1, 0>>, Relation<2, Order<0, 1>>>> points;
    Recursive<Relation<3, Order<0, 1, 2>>> field_points;
    Recursive<Either<Relation<2, Order<0, 1>>, Relation<2, Order<0, 1>, Order<1, 0>>>> assign;

    void read_facts(const std::string& folder) {
        SymbolTable symbols;
        read<3>(folder, "allocation", symbols, allocation);
        read<2>(folder, "move", symbols, move);
        read<3>(folder, "load", symbols, load);
        read<3>(folder, "store", symbols, store);
        read<4>(folder, "virtualCall", symbols, virtual_call);
        read<2>(folder, "heapType", symbols, heap_type);
        read<3>(folder, "declares", symbols, declares);
        read<2>(folder, "extends", symbols, extends);
        read<3>(folder, "formal", symbols, formal, 1);
        read<3>(folder, "actual", symbols, actual, 1);
        read<2>(folder, "this", symbols, self);
        read<1>(folder, "entry", symbols, entry);
    }

    void evaluate() {
        lookups();
        // reachable(M) :- entry(M).   assign(V, W) :- move(V, W).
        for (auto& t : entry) reachable.full.insert(t);
        for (auto& t : move) assign.full.insert(t);
        reachable.start();
        assign.start();
        bool more = true;
        while (more) {
            allocated();
            assigned();
            passed();
            loaded();
            stored();
            called([this](Id, Id, Id m) { return reachable.full.contains({m}); },
                   [this](Id, Id, Id m) {
                       if (!self.template range<0>(by<0>, m).empty()) reachable.fresh.insert({m});
                   });
            called([this](Id, Id i, Id m) { return call_graph.full.contains({i, m}); },
                   [this](Id, Id i, Id m) {
                       if (!self.template range<0>(by<0>, m).empty()) call_graph.fresh.insert({i, m});
                   });
            called([](Id, Id, Id) { return false; },
                   [this](Id h, Id, Id m) {
                       for (auto& [m_, v] : self.template range<0>(by<0>, m)) points.derive(Tuple<2>{v, h});
                   });
            more = next_round();
        }
    }

    bool next_round() {
        bool some = reachable.next_round();
        some |= call_graph.next_round();
        some |= points.next_round();
        some |= field_points.next_round();
        some |= assign.next_round();
        return some;
    }

    // lookup(T, S, M) :- declares(T, S, M).
    // lookup(T, S, M) :- extends(T, U), lookup(U, S, M), !declares(T, S, _).
    void lookups() {
        for (auto& t : declares) lookup.full.insert(t);
        lookup.start();
        bool more = !extends.empty();
        while (more) {
            auto found = [this](Id t, Id s, Id m) {
                if (declares.template range<0>(by<0, 1>, t, s).empty()) lookup.derive(Tuple<3>{t, s, m});
            };
            if constexpr (planned) {
                for (auto& [u, s, m] : lookup.delta)
                    for (auto& [t, u_] : extends.template range<0>(by<1>, u)) found(t, s, m);
            } else {
                for (auto& [t, u] : extends)
                    for (auto& [u_, s, m] : lookup.delta.template range<0>(by<0>, u)) found(t, s, m);
            }
            more = lookup.next_round();
        }
    }

    // points(V, H) :- reachable(M), allocation(V, H, M).
    void allocated() {
        if (allocation.empty()) return;
        for (auto& [m] : reachable.delta)
            for (auto& [v, h, m_] : allocation.template range<0>(by<2>, m)) points.derive(Tuple<2>{v, h});
    }

    // points(V, H) :- assign(V, W), points(W, H).
    void assigned() {
        if (!assign.delta.empty() && !points.full.empty())
            for (auto& [v, w] : assign.delta)
                for (auto& [w_, h] : points.full.template range<0>(by<0>, w))
                    if (!points.full.contains({v, h}) && !points.delta.contains({w, h})) points.fresh.insert({v, h});
        if (assign.full.empty() || points.delta.empty()) return;
        if constexpr (planned) {
            for (auto& [w, h] : points.delta)
                for (auto& [v, w_] : assign.full.template range<1>(by<1>, w)) points.derive(Tuple<2>{v, h});
        } else {
            for (auto& [v, w] : assign.full)
                for (auto& [w_, h] : points.delta.template range<0>(by<0>, w)) points.derive(Tuple<2>{v, h});
        }
    }

    // assign(V, W) :- callGraph(I, M), formal(M, N, V), actual(I, N, W).
    void passed() {
        for (auto& [i, m] : call_graph.delta)
            for (auto& [m_, n, v] : formal.template range<0>(by<0>, m))
                for (auto& [i_, n_, w] : actual.template range<0>(by<0, 1>, i, n)) assign.derive(Tuple<2>{v, w});
    }

    // points(V, H) :- load(V, B, F), points(B, G), fieldPoints(G, F, H).
    void loaded() {
        if (load.empty() || field_points.full.empty()) return;
        if (!points.delta.empty()) {
            auto found = [this](Id v, Id f, Id g) {
                for (auto& [g_, f_, h] : field_points.full.template range<0>(by<0, 1>, g, f))
                    if (!points.full.contains({v, h}) && !field_points.delta.contains({g, f, h}))
                        points.fresh.insert({v, h});
            };
            if constexpr (fields_planned) {
                for (auto& [b, g] : points.delta)
                    for (auto& [v, b_, f] : load.template range<0>(by<1>, b)) found(v, f, g);
            } else {
                for (auto& [v, b, f] : load)
                    for (auto& [b_, g] : points.delta.template range<0>(by<0>, b)) found(v, f, g);
            }
        }
        if (field_points.delta.empty()) return;
        if constexpr (by_base) {
            for (auto& [g, f, h] : field_points.delta)
                for (auto& [b, g_] : points.full.template range<1>(by<1>, g))
                    for (auto& [v, b_, f_] : load.template range<0>(by<1, 2>, b, f)) points.derive(Tuple<2>{v, h});
        } else if constexpr (by_field) {
            for (auto& [g, f, h] : field_points.delta)
                for (auto& [v, b, f_] : load.template range<1>(by<2>, f))
                    if (points.full.contains({b, g})) points.derive(Tuple<2>{v, h});
        } else {
            for (auto& [v, b, f] : load)
                for (auto& [b_, g] : points.full.template range<0>(by<0>, b))
                    for (auto& [g_, f_, h] : field_points.delta.template range<0>(by<0, 1>, g, f))
                        points.derive(Tuple<2>{v, h});
        }
    }

    // fieldPoints(G, F, H) :- store(B, F, V), points(B, G), points(V, H).
    void stored() {
        if (store.empty() || points.delta.empty()) return;
        auto of_base = [this](Id f, Id v, Id g) {
            for (auto& [v_, h] : points.full.template range<0>(by<0>, v))
                if (!field_points.full.contains({g, f, h}) && !points.delta.contains({v, h}))
                    field_points.fresh.insert({g, f, h});
        };
        if constexpr (fields_planned) {
            for (auto& [b, g] : points.delta)
                for (auto& [b_, f, v] : store.template range<0>(by<0>, b)) of_base(f, v, g);
            for (auto& [v, h] : points.delta)
                for (auto& [b, f, v_] : store.template range<1>(by<2>, v))
                    for (auto& [b_, g] : points.full.template range<0>(by<0>, b))
                        field_points.derive(Tuple<3>{g, f, h});
        } else {
            for (auto& [b, f, v] : store)
                for (auto& [b_, g] : points.delta.template range<0>(by<0>, b)) of_base(f, v, g);
            for (auto& [b, f, v] : store)
                for (auto& [b_, g] : points.full.template range<0>(by<0>, b))
                    for (auto& [v_, h] : points.delta.template range<0>(by<0>, v))
                        field_points.derive(Tuple<3>{g, f, h});
        }
    }

    // One of: callGraph(I, M), reachable(M), points(V, H) :-
    //     virtualCall(B, S, I, C), reachable(C), points(B, H), heapType(H, T), lookup(T, S, M), this(M, V).
    template <class Known, class Insert>
    void called(Known known, Insert insert) {
        if (virtual_call.empty() || heap_type.empty() || lookup.full.empty() || self.empty()) return;
        auto dispatch = [&, this](Id s, Id i, Id h) {
            for (auto& [h_, t] : heap_type.template range<0>(by<0>, h))
                for (auto& [t_, s_, m] : lookup.full.template range<0>(by<0, 1>, t, s))
                    if (!known(h, i, m)) insert(h, i, m);
        };
        auto old_receivers = [&, this](Id b, Id s, Id i) {
            for (auto& [b_, h] : points.full.template range<0>(by<0>, b))
                if (!points.delta.contains({b, h})) dispatch(s, i, h);
        };
        if (!reachable.delta.empty() && !points.full.empty()) {
            if constexpr (planned) {
                for (auto& [c] : reachable.delta)
                    for (auto& [b, s, i, c_] : virtual_call.template range<1>(by<3>, c)) old_receivers(b, s, i);
            } else {
                for (auto& [b, s, i, c] : virtual_call)
                    if (reachable.delta.contains({c})) old_receivers(b, s, i);
            }
        }
        if (points.delta.empty()) return;
        if constexpr (planned) {
            for (auto& [b, h] : points.delta)
                for (auto& [b_, s, i, c] : virtual_call.template range<0>(by<0>, b))
                    if (reachable.full.contains({c})) dispatch(s, i, h);
        } else {
            for (auto& [b, s, i, c] : virtual_call)
                if (reachable.full.contains({c}))
                    for (auto& [b_, h] : points.delta.template range<0>(by<0>, b)) dispatch(s, i, h);
        }
    }
};

template <Plan P>
int run(const std::string& folder) {
    using Clock = std::chrono::steady_clock;
    auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
    Analysis<P> analysis;
    auto started = Clock::now();
    analysis.read_facts(folder);
    auto read = Clock::now();
    std::clock_t before = std::clock();
    analysis.evaluate();
    double cpu = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    auto done = Clock::now();
    std::printf("{\"read\": %.6f, \"evaluate\": %.6f, \"cpu\": %.6f, \"sizes\": {", seconds(started, read),
                seconds(read, done), cpu);
    std::printf("\"lookup\": %zu, \"reachable\": %zu, \"callGraph\": %zu, \"points\": %zu, ",
                analysis.lookup.full.size(), analysis.reachable.full.size(), analysis.call_graph.full.size(),
                analysis.points.full.size());
    std::printf("\"fieldPoints\": %zu, \"assign\": %zu}}\n", analysis.field_points.full.size(),
                analysis.assign.full.size());
    std::fflush(stdout);
    std::_Exit(0);  // freeing the trees is no part of the measurement
}

int main(int count, char** arguments) {
    std::string plan = count == 3 ? arguments[2] : "";
    if (plan == "text") return run<Plan::text>(arguments[1]);
    if (plan == "plan-base") return run<Plan::base>(arguments[1]);
    if (plan == "plan-field") return run<Plan::field>(arguments[1]);
    if (plan == "plan-calls") return run<Plan::calls>(arguments[1]);
    std::fprintf(stderr, "points_to FOLDER text|plan-base|plan-field|plan-calls\n");
    return 2;
}
