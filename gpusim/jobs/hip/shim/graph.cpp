// Graphs and stream capture. A graph is its nodes in the order in which they were added; launched, it does their work in
// one stream, one after another, each after what it depends on: branches of a graph are not beside one another.
#include "graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "launch.h"
#include "memory.h"
#include "streams.h"

namespace {
struct Node {
  NodeType type;
  Work work;
  std::vector<Node*> after;
  bool enabled = true;
  KernelNodeParams kernel{};  // as given, of a kernel's node that was added
  hipMemsetParams memset{};
  hipMemcpy3DParms memcpy{};
  hipHostNodeParams host{};
  bool given = false;  // the parameters; captured nodes have none
  struct Graph* child = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;

  Node* add(NodeType type, Work work, const std::vector<Node*>& after) {
    nodes.push_back(std::make_unique<Node>());
    Node* n = nodes.back().get();
    n->type = type, n->work = std::move(work), n->after = after;
    return n;
  }
  bool has(const Node* n) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](auto& held) { return held.get() == n; });
  }
  // Nodes, each after those that it depends on, otherwise as they were added; fewer than there are in a cycle.
  std::vector<Node*> ordered() const {
    std::vector<Node*> done;
    for (size_t before = ~size_t(0); before != done.size();) {
      before = done.size();
      for (auto& n : nodes) {
        auto there = [&](Node* d) { return std::find(done.begin(), done.end(), d) != done.end(); };
        if (!there(n.get()) && std::all_of(n->after.begin(), n->after.end(), there)) done.push_back(n.get());
      }
    }
    return done;
  }
  // A copy, and which of its nodes stands for which.
  std::unique_ptr<Graph> copy(std::map<const Node*, Node*>* made) const {
    auto other = std::make_unique<Graph>();
    std::map<const Node*, Node*> found;
    for (auto& n : nodes) {
      other->nodes.push_back(std::make_unique<Node>(*n));
      found[n.get()] = other->nodes.back().get();
    }
    for (auto& n : other->nodes)
      for (Node*& before : n->after) before = found[before];
    if (made) *made = found;
    return other;
  }
};

// A graph as it was when it was instantiated.
struct Executable {
  std::unique_ptr<Graph> graph;
  std::map<const Node*, Node*> mine;
  std::vector<Node*> order;
};

hipError_t run(const std::vector<Node*>& order, hipStream_t stream) {
  for (Node* n : order)
    if (n->enabled && n->work)
      if (hipError_t error = n->work(stream)) return error;
  return hipSuccess;
}

// One capture: the graph that it makes, and the last node of each stream that takes part.
struct Capture {
  uint64_t number;
  hipStream_t origin;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  std::map<hipStream_t, std::vector<Node*>> last;
};
std::recursive_mutex mutex;
std::map<hipStream_t, std::shared_ptr<Capture>> captures;
std::map<hipEvent_t, std::pair<std::weak_ptr<Capture>, std::vector<Node*>>> events;
uint64_t captures_made = 0;
thread_local int mode = 0;

std::shared_ptr<Capture> capture_of(hipStream_t stream) {
  auto found = captures.find(stream);
  return found == captures.end() ? nullptr : found->second;
}

hipError_t begin(hipStream_t stream) {
  CONNECT();
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (!number(stream)) return fail(hipErrorStreamCaptureUnsupported);  // not of the default stream
  if (capture_of(stream)) return fail(hipErrorIllegalState);
  auto made = std::make_shared<Capture>();
  made->number = ++captures_made, made->origin = stream;
  captures[stream] = made;
  return hipSuccess;
}

hipError_t end(hipStream_t stream, Graph** graph) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  auto ended = capture_of(stream);
  if (!ended || !graph) return fail(ended ? hipErrorInvalidValue : hipErrorIllegalState);
  if (ended->origin != stream) return fail(hipErrorStreamCaptureUnmatched);
  for (auto at = captures.begin(); at != captures.end();) at = at->second == ended ? captures.erase(at) : std::next(at);
  *graph = ended->graph.release();
  return hipSuccess;
}

hipError_t info(hipStream_t stream, int* status, unsigned long long* id, Graph** graph, Node* const** last, size_t* count) {
  if (!status) return fail(hipErrorInvalidValue);
  std::lock_guard<std::recursive_mutex> held(mutex);
  auto found = capture_of(stream);
  *status = bool(found);
  if (!found) return hipSuccess;
  if (id) *id = found->number;
  if (graph) *graph = found->graph.get();
  auto& nodes = found->last[stream];
  if (last) *last = nodes.data();
  if (count) *count = nodes.size();
  return hipSuccess;
}

// --- nodes

hipError_t add(Node** node, Graph* graph, Node* const* after, size_t count, NodeType type, Work work) {
  CONNECT();
  if (!node || !graph || (count && !after)) return fail(hipErrorInvalidValue);
  std::vector<Node*> before(after, after + count);
  for (Node* n : before)
    if (!graph->has(n)) return fail(hipErrorInvalidValue);
  *node = graph->add(type, std::move(work), before);
  return hipSuccess;
}

hipError_t work_of(const hipMemsetParams* p, Work* work) {
  if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)) return fail(hipErrorInvalidValue);
  hipMemsetParams params = *p;
  *work = [params](hipStream_t s) {
    hipError_t error = hipSuccess;
    for (size_t y = 0; !error && y < std::max<size_t>(params.height, 1); y++)
      error = fill(static_cast<char*>(params.dst) + y * params.pitch, &params.value, params.elementSize, params.width, s, false);
    return error;
  };
  return hipSuccess;
}

hipError_t work_of(const hipMemcpy3DParms* p, Work* work) {
  if (!p) return fail(hipErrorInvalidValue);
  hipMemcpy3DParms params = *p;
  *work = [params](hipStream_t s) { return copy_3d(&params, s, false); };
  return hipSuccess;
}

hipError_t work_of(const hipHostNodeParams* p, Work* work) {
  if (!p || !p->fn) return fail(hipErrorInvalidValue);
  hipHostNodeParams params = *p;
  *work = [params](hipStream_t s) {
    hipError_t error = finish(number(s));
    if (!error) params.fn(params.userData);
    return error;
  };
  return hipSuccess;
}

hipError_t work_of(const KernelNodeParams* p, Work* work) {
  if (!p) return fail(hipErrorInvalidValue);
  return kernel_work(p->func, p->gridDim, p->blockDim, p->kernelParams, p->extra, p->sharedMemBytes, work);
}

Work copy_work(void* to, const void* from, size_t size) {
  return [=](hipStream_t s) { return copy(to, from, size, s, false); };
}

template <typename Params>
hipError_t add_of(Node** node, Graph* graph, Node* const* after, size_t count, NodeType type, Params Node::*kept, const Params* p) {
  Work work;
  if (hipError_t error = work_of(p, &work)) return error;
  hipError_t error = add(node, graph, after, count, type, work);
  if (!error) (*node)->*kept = *p, (*node)->given = true;
  return error;
}

template <typename Params>
hipError_t get(Node* n, NodeType type, Params Node::*kept, Params* p) {
  if (!n || !p || n->type != type) return fail(hipErrorInvalidValue);
  if (!n->given) {
    complain("the parameters of a captured node are not kept");
    return fail(hipErrorNotSupported);
  }
  *p = n->*kept;
  return hipSuccess;
}

template <typename Params>
hipError_t set(Node* n, NodeType type, Params Node::*kept, const Params* p) {
  if (!n || n->type != type) return fail(hipErrorInvalidValue);
  if (hipError_t error = work_of(p, &n->work)) return error;
  n->*kept = *p, n->given = true;
  return hipSuccess;
}

Node* in(Executable* e, Node* n) {
  auto found = e ? e->mine.find(n) : decltype(e->mine.find(n))();
  return e && found != e->mine.end() ? found->second : nullptr;
}

hipError_t instantiate(Executable** e, Graph* graph) {
  CONNECT();
  if (!e || !graph) return fail(hipErrorInvalidValue);
  auto made = std::make_unique<Executable>();
  made->graph = graph->copy(&made->mine);
  made->order = made->graph->ordered();
  if (made->order.size() != graph->nodes.size()) return fail(hipErrorInvalidValue);  // a cycle
  *e = made.release();
  return hipSuccess;
}

hipError_t list(const std::vector<Node*>& found, Node** nodes, size_t* count) {
  if (!count) return fail(hipErrorInvalidValue);
  if (nodes) {
    std::copy_n(found.begin(), std::min(*count, found.size()), nodes);
    std::fill_n(nodes + std::min(*count, found.size()), *count > found.size() ? *count - found.size() : 0, nullptr);
  }
  *count = found.size();
  return hipSuccess;
}

hipError_t launch(Executable* e, hipStream_t stream) {
  CONNECT();
  if (!e) return fail(hipErrorInvalidValue);
  if (capturing(stream)) return capture(stream, NodeType::GRAPH, [e](hipStream_t s) { return run(e->order, s); });
  return fail(run(e->order, stream));
}
}  // namespace

bool capturing(hipStream_t stream) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  return !captures.empty() && capture_of(stream);
}

hipError_t capture(hipStream_t stream, NodeType type, Work work) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  auto into = capture_of(stream);
  auto& last = into->last[stream];
  last = {into->graph->add(type, std::move(work), last)};
  return hipSuccess;
}

void record_in_capture(hipEvent_t event, hipStream_t stream) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  auto into = capture_of(stream);
  events[event] = {into, into->last[stream]};
}

bool join_capture(hipStream_t stream, hipEvent_t event) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  auto found = events.find(event);
  auto into = found == events.end() ? nullptr : found->second.first.lock();
  if (!into || !into->graph) return false;
  captures[stream] = into;
  auto& last = into->last[stream];
  last.insert(last.end(), found->second.second.begin(), found->second.second.end());
  return true;
}

// --- capture
API hipError_t hipStreamBeginCapture(hipStream_t s, int) { return begin(s); }
API hipError_t hipStreamBeginCapture_spt(hipStream_t s, int) { return begin(s); }
API hipError_t hipStreamEndCapture(hipStream_t s, Graph** graph) { return end(s, graph); }
API hipError_t hipStreamEndCapture_spt(hipStream_t s, Graph** graph) { return end(s, graph); }
API hipError_t hipStreamIsCapturing(hipStream_t s, int* status) { return info(s, status, nullptr, nullptr, nullptr, nullptr); }
API hipError_t hipStreamIsCapturing_spt(hipStream_t s, int* status) { return hipStreamIsCapturing(s, status); }
API hipError_t hipStreamGetCaptureInfo(hipStream_t s, int* status, unsigned long long* id) {
  return info(s, status, id, nullptr, nullptr, nullptr);
}
API hipError_t hipStreamGetCaptureInfo_spt(hipStream_t s, int* status, unsigned long long* id) {
  return info(s, status, id, nullptr, nullptr, nullptr);
}
API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t s, int* status, unsigned long long* id, Graph** graph,
                                          Node* const** last, size_t* count) {
  return info(s, status, id, graph, last, count);
}
API hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t s, int* status, unsigned long long* id, Graph** graph,
                                              Node* const** last, size_t* count) {
  return info(s, status, id, graph, last, count);
}
API hipError_t hipThreadExchangeStreamCaptureMode(int* other) {
  if (!other) return fail(hipErrorInvalidValue);
  std::swap(mode, *other);
  return hipSuccess;
}

// --- graphs
API hipError_t hipGraphCreate(Graph** graph, unsigned) {
  if (!graph) return fail(hipErrorInvalidValue);
  *graph = new Graph;
  return hipSuccess;
}
API hipError_t hipGraphDestroy(Graph* graph) {
  if (!graph) return fail(hipErrorInvalidValue);
  delete graph;
  return hipSuccess;
}
API hipError_t hipGraphClone(Graph** copy, Graph* graph) {
  if (!copy || !graph) return fail(hipErrorInvalidValue);
  *copy = graph->copy(nullptr).release();
  return hipSuccess;
}
API hipError_t hipGraphAddKernelNode(Node** n, Graph* g, Node* const* after, size_t count, const KernelNodeParams* p) {
  CONNECT();
  return add_of(n, g, after, count, NodeType::KERNEL, &Node::kernel, p);
}
API hipError_t hipGraphAddMemsetNode(Node** n, Graph* g, Node* const* after, size_t count, const hipMemsetParams* p) {
  return add_of(n, g, after, count, NodeType::MEMSET, &Node::memset, p);
}
API hipError_t hipGraphAddMemcpyNode(Node** n, Graph* g, Node* const* after, size_t count, const hipMemcpy3DParms* p) {
  return add_of(n, g, after, count, NodeType::MEMCPY, &Node::memcpy, p);
}
API hipError_t hipGraphAddHostNode(Node** n, Graph* g, Node* const* after, size_t count, const hipHostNodeParams* p) {
  return add_of(n, g, after, count, NodeType::HOST, &Node::host, p);
}
API hipError_t hipGraphAddMemcpyNode1D(Node** n, Graph* g, Node* const* after, size_t count, void* to, const void* from,
                                       size_t size, hipMemcpyKind) {
  return add(n, g, after, count, NodeType::MEMCPY, copy_work(to, from, size));
}
API hipError_t hipGraphAddEmptyNode(Node** n, Graph* g, Node* const* after, size_t count) {
  return add(n, g, after, count, NodeType::EMPTY, {});
}
API hipError_t hipGraphAddChildGraphNode(Node** n, Graph* g, Node* const* after, size_t count, Graph* child) {
  if (!child) return fail(hipErrorInvalidValue);
  std::shared_ptr<Graph> kept = child->copy(nullptr);
  hipError_t error = add(n, g, after, count, NodeType::GRAPH, [kept](hipStream_t s) { return run(kept->ordered(), s); });
  if (!error) (*n)->child = kept.get();
  return error;
}
API hipError_t hipGraphChildGraphNodeGetGraph(Node* n, Graph** graph) {
  if (!n || !graph || !n->child) return fail(hipErrorInvalidValue);
  *graph = n->child;
  return hipSuccess;
}
API hipError_t hipGraphAddEventRecordNode(Node** n, Graph* g, Node* const* after, size_t count, hipEvent_t e) {
  return add(n, g, after, count, NodeType::RECORD_EVENT, [e](hipStream_t s) { return record(e, s); });
}
API hipError_t hipGraphAddEventWaitNode(Node** n, Graph* g, Node* const* after, size_t count, hipEvent_t e) {
  return add(n, g, after, count, NodeType::WAIT_EVENT, [e](hipStream_t s) { return wait(s, e); });
}
API hipError_t hipGraphAddDependencies(Graph* g, Node* const* from, Node* const* to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!g || !g->has(from[i]) || !g->has(to[i]) || from[i] == to[i]) return fail(hipErrorInvalidValue);
    to[i]->after.push_back(from[i]);
  }
  return hipSuccess;
}
API hipError_t hipGraphRemoveDependencies(Graph* g, Node* const* from, Node* const* to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!g || !g->has(to[i])) return fail(hipErrorInvalidValue);
    auto& after = to[i]->after;
    after.erase(std::remove(after.begin(), after.end(), from[i]), after.end());
  }
  return hipSuccess;
}
// --- what is in a graph
API hipError_t hipGraphGetNodes(Graph* g, Node** nodes, size_t* count) {
  std::vector<Node*> all;
  if (g)
    for (auto& n : g->nodes) all.push_back(n.get());
  return g ? list(all, nodes, count) : fail(hipErrorInvalidValue);
}
API hipError_t hipGraphGetRootNodes(Graph* g, Node** nodes, size_t* count) {
  std::vector<Node*> roots;
  if (g)
    for (auto& n : g->nodes)
      if (n->after.empty()) roots.push_back(n.get());
  return g ? list(roots, nodes, count) : fail(hipErrorInvalidValue);
}
API hipError_t hipGraphGetEdges(Graph* g, Node** from, Node** to, size_t* count) {
  std::vector<Node*> first, second;
  if (!g || !count) return fail(hipErrorInvalidValue);
  for (auto& n : g->nodes)
    for (Node* before : n->after) first.push_back(before), second.push_back(n.get());
  size_t same = *count;
  list(first, from, count);
  return list(second, to, from ? &same : count);
}
API hipError_t hipGraphNodeGetDependencies(Node* n, Node** nodes, size_t* count) {
  return n ? list(n->after, nodes, count) : fail(hipErrorInvalidValue);
}
API hipError_t hipGraphNodeGetType(Node* n, int* type) {
  if (!n || !type) return fail(hipErrorInvalidValue);
  *type = int(n->type);
  return hipSuccess;
}
API hipError_t hipGraphKernelNodeGetParams(Node* n, KernelNodeParams* p) { return get(n, NodeType::KERNEL, &Node::kernel, p); }
API hipError_t hipGraphKernelNodeSetParams(Node* n, const KernelNodeParams* p) {
  return set(n, NodeType::KERNEL, &Node::kernel, p);
}
API hipError_t hipGraphMemsetNodeGetParams(Node* n, hipMemsetParams* p) { return get(n, NodeType::MEMSET, &Node::memset, p); }
API hipError_t hipGraphMemsetNodeSetParams(Node* n, const hipMemsetParams* p) {
  return set(n, NodeType::MEMSET, &Node::memset, p);
}
API hipError_t hipGraphMemcpyNodeGetParams(Node* n, hipMemcpy3DParms* p) { return get(n, NodeType::MEMCPY, &Node::memcpy, p); }
API hipError_t hipGraphMemcpyNodeSetParams(Node* n, const hipMemcpy3DParms* p) {
  return set(n, NodeType::MEMCPY, &Node::memcpy, p);
}
API hipError_t hipGraphHostNodeGetParams(Node* n, hipHostNodeParams* p) { return get(n, NodeType::HOST, &Node::host, p); }
API hipError_t hipGraphHostNodeSetParams(Node* n, const hipHostNodeParams* p) { return set(n, NodeType::HOST, &Node::host, p); }

// --- executable graphs
API hipError_t hipGraphInstantiate(Executable** e, Graph* g, Node** wrong, char* log, size_t size) {
  if (wrong) *wrong = nullptr;
  if (log && size) *log = 0;
  return instantiate(e, g);
}
API hipError_t hipGraphInstantiateWithFlags(Executable** e, Graph* g, unsigned long long) { return instantiate(e, g); }
API hipError_t hipGraphExecDestroy(Executable* e) {
  if (!e) return fail(hipErrorInvalidValue);
  delete e;
  return hipSuccess;
}
API hipError_t hipGraphLaunch(Executable* e, hipStream_t s) { return launch(e, s); }
API hipError_t hipGraphLaunch_spt(Executable* e, hipStream_t s) { return launch(e, s); }
API hipError_t hipGraphUpload(Executable* e, hipStream_t) { return e ? hipSuccess : fail(hipErrorInvalidValue); }
API hipError_t hipGraphExecKernelNodeSetParams(Executable* e, Node* n, const KernelNodeParams* p) {
  return set(in(e, n), NodeType::KERNEL, &Node::kernel, p);
}
API hipError_t hipGraphExecMemsetNodeSetParams(Executable* e, Node* n, const hipMemsetParams* p) {
  return set(in(e, n), NodeType::MEMSET, &Node::memset, p);
}
API hipError_t hipGraphExecMemcpyNodeSetParams(Executable* e, Node* n, hipMemcpy3DParms* p) {
  return set(in(e, n), NodeType::MEMCPY, &Node::memcpy, static_cast<const hipMemcpy3DParms*>(p));
}
API hipError_t hipGraphExecMemcpyNodeSetParams1D(Executable* e, Node* n, void* to, const void* from, size_t size, hipMemcpyKind) {
  Node* mine = in(e, n);
  if (!mine || mine->type != NodeType::MEMCPY) return fail(hipErrorInvalidValue);
  mine->work = copy_work(to, from, size);
  return hipSuccess;
}
API hipError_t hipGraphExecHostNodeSetParams(Executable* e, Node* n, const hipHostNodeParams* p) {
  return set(in(e, n), NodeType::HOST, &Node::host, p);
}
API hipError_t hipGraphNodeSetEnabled(Executable* e, Node* n, unsigned enabled) {
  Node* mine = in(e, n);
  if (!mine) return fail(hipErrorInvalidValue);
  mine->enabled = enabled;
  return hipSuccess;
}
API hipError_t hipGraphNodeGetEnabled(Executable* e, Node* n, unsigned* enabled) {
  Node* mine = in(e, n);
  if (!mine || !enabled) return fail(hipErrorInvalidValue);
  *enabled = mine->enabled;
  return hipSuccess;
}
// The executable takes what the graph's nodes do now, if they are as many and of the same types.
API hipError_t hipGraphExecUpdate(Executable* e, Graph* g, Node** wrong, int* result) {
  if (!e || !g) return fail(hipErrorInvalidValue);
  bool same = e->graph->nodes.size() == g->nodes.size();
  for (size_t i = 0; same && i < g->nodes.size(); i++) same = e->graph->nodes[i]->type == g->nodes[i]->type;
  if (wrong) *wrong = nullptr;
  if (result) *result = same ? 0 : 2;  // hipGraphExecUpdateErrorTopologyChanged
  if (!same) return fail(hipErrorGraphExecUpdateFailure);
  Executable* made = nullptr;
  if (hipError_t error = instantiate(&made, g)) return error;
  std::swap(*e, *made);
  delete made;
  return hipSuccess;
}
