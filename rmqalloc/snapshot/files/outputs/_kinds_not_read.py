r"""Kinds of text that are not read: how each is recognised, what it could show, what to give instead.

A text has the first kind of `KINDS` that fits, so what is specific stands before what is general:
documents of rmqalloc, formats of other programs, outputs of mqadmin, logs, and last what is only a
form (JSON, XML, any log). Patterns look for rows as well as heads, for a text may be a few lines of
a paste.

The text is hostile. So patterns of lines are matched at the beginnings of lines only, and those of
marks begin with a fixed text; what repeats is bounded, or is followed by what it cannot match.
"""

from __future__ import annotations

from typing import NamedTuple

from rmqalloc.snapshot.files.outputs._formats import CLIENTS, LAG, OTHERS, OWNERS, ROUTE


class Kind(NamedTuple):
    """One kind of text."""

    what: str
    shows: str  # what it could show; empty if nothing about groups
    instead: str
    line: str = ""  # regular expression of a line, or of its beginning
    mark: str = ""  # regular expression of something that may stand anywhere
    words: tuple[str, ...] = ()  # texts that may stand anywhere; one of all these suffices
    also: str = ""  # regular expression of what must be found besides
    file_name: str = ""  # regular expression of whole names of such files


_DIFFERENT_OUTPUTS = (
    "mqadmin topicRoute -t TOPIC, consumerConnection -g GROUP, consumerStatus -g GROUP and "
    "consumerProgress -g GROUP are read"
)
_OF_CLOUD = (
    "where the cloud lets mqadmin in (-n with the endpoint of the instance), "
    "topicRoute -t TOPIC, consumerConnection -g GROUP and consumerProgress -g GROUP are read"
)
_AGAIN = "run the command again, and keep what it prints with its errors (2>&1)"
_AS_TEXT = "give the outputs themselves as text (mqadmin ... > FILE)"
_SECRETS = "leave it out, for it may hold secrets"

_DOCUMENTS = (
    Kind(
        "a saved plan of rmqalloc",
        "the owners before and after a change",
        "rmqalloc diff, verify, report and check --plan read it; here give the snapshot",
        mark=r'kind"?[ \t]*:[ \t]*"?Plan\b',
        also=r"rmqalloc/v\d",
    ),
    Kind(
        "a list of findings of rmqalloc check",
        "findings of another snapshot",
        "give the snapshot or the outputs that were checked",
        mark=(
            r'kind"?[ \t]*:[ \t]*"?Findings\b'
            r'|"driver"\s{0,9}:\s{0,99}\{\s{0,99}"name"\s{0,9}:\s{0,9}"rmqalloc"'
        ),
    ),
    Kind(
        "a table that a verb of rmqalloc printed",
        "the result of that verb",
        "give the snapshot or the outputs that it read",
        line=r'[ \t\[]{0,80}\{"consumer_group": "|[ \t]*-[ \t]+consumer_group:[ \t]',
    ),
    Kind(
        "text that rmqalloc printed",
        "the result of a verb",
        "give the snapshot or the outputs that it read",
        line=(
            r"Group \S{1,255}  \S[^\n]{0,200}  \d+ clients?  \d+ queues?\b|Unread messages: "
            r"|Moved \d[\d,]* of \d[\d,]* queues|Until all clients follow |! (?:error|warning"
            r"|note) +[a-z-]{3,60}: "
        ),
    ),
    Kind(
        "a message of rmqalloc",
        "",
        "follow its advice, and remove it",
        line=r"rmqalloc: (?!\$)|note: (?:plan|strategy|the snapshot) ",
    ),
    Kind(
        "a file of scenarios for rmqalloc plan",
        "changes to try",
        "give it as rmqalloc plan --scenario FILE, and the snapshot as -f",
        line=(
            r'[ \t{-]*"?(?:scale_clients|add_clients|remove_clients|add_broker|remove_broker'
            r'|set_queues|set_strategy)"?[ \t]*:|[ \t{]*"?scenarios"?[ \t]*:[ \t]*(?:\[|$)'
        ),
        file_name=r"what-if\.(?:ya?ml|json)",
    ),
    Kind(
        "a script for rmqalloc simulate",
        "a made-up cluster",
        "give it to rmqalloc simulate",
        line=r"[ \t]*- \{at: \d",
        mark=r"[{ \t\"](?:produced_per_second|consumed_per_second|listener_time|warm_up|broker_settings|start_every)\"?[ \t]*:",
    ),
    Kind(
        "a file of gates for rmqalloc plan",
        "limits that a plan must keep",
        "give it as rmqalloc plan --gates FILE, and the snapshot as -f",
        line=(
            r'[ \t{]*"?(?:max_moved|max_moved_share|max_skew|fail_if_worse|max_unowned'
            r'|max_unowned_seconds|max_double)"?[ \t]*:'
        ),
        file_name=r"gates\.(?:ya?ml|json)",
    ),
    Kind(
        "the configuration of rmqalloc",
        "the name servers of clusters",
        "rmqalloc context shows it; rmqalloc snapshot --context NAME reads such a cluster",
        line=r'[ \t{]*"?contexts"?[ \t]*:',
        also=r'"?name_servers"?[ \t]*:',
    ),
    Kind(
        "a file of machine rooms",
        "machine rooms of brokers and clients",
        "give it as --rooms FILE, and the snapshot as -f",
        mark=(
            r'\A(?:#[^\n]{0,300}\n)*(?:"?(?:brokers'
            r'|clients)"?[ \t]*:[ \t]*(?:\{[^\n]{0,300}\}[ \t]*)?$|\{\s{0,99}"(?:brokers'
            r'|clients)"\s{0,9}:\s{0,9}\{)'
        ),
        file_name=r"rooms\.(?:ya?ml|json)",
    ),
    Kind(
        "a JSON Schema",
        "",
        "give a file that keeps it",
        mark=r"json-schema\.org/draft/",
        also=r'"\$schema"\s{0,9}:',
    ),
    Kind(
        "a page of metrics of rmqalloc serve",
        "sums of a cluster at one moment",
        "rmqalloc snapshot -n HOST:9876 reads the same cluster",
        line=r"(?:# (?:HELP|TYPE) )?rmqalloc_[a-z_]{1,80}[ {]",
    ),
    Kind(
        "a page or report of rmqalloc",
        "the result of a verb",
        "give the snapshot or the outputs that it read",
        mark=r"<title>rmqalloc\b",
    ),
)

_MONITORING = (
    Kind(
        "a page (HTML)",
        "",
        _AS_TEXT,
        mark=r"\A\s{0,999}<(?:!DOCTYPE|!doctype|html|HTML)\b",
    ),
    Kind(
        "a page of metrics of rocketmq-exporter, a broker or a proxy",
        "the lag and the rates of a group, without its queues and clients",
        LAG,
        line=r"(?:# (?:HELP|TYPE) )?rocketmq_[a-z_]{1,80}[ {]",
    ),
    Kind(
        "a page of metrics in Prometheus' text form",
        "",
        _DIFFERENT_OUTPUTS,
        line=r"# (?:HELP|TYPE) [a-zA-Z_:]",
    ),
    Kind(
        "the answer of a query to Prometheus",
        "the lag of a group at some moments, without its queues and clients",
        LAG,
        mark=(
            r'"resultType"\s{0,9}:\s{0,9}"(?:vector|matrix|scalar|string|streams)"'
            r'|"metric"\s{0,9}:\s{0,99}\{\s{0,99}"__name__"'
        ),
    ),
    Kind(
        "a message of Alertmanager (JSON)",
        "which limit was passed, and when",
        f"{LAG}; {OWNERS}",
        mark=r'"(?:alertname|groupKey|truncatedAlerts|generatorURL)"\s{0,9}:',
    ),
    Kind(
        "a file of Prometheus' rules for alerts",
        "",
        _DIFFERENT_OUTPUTS,
        line=r"[ \t]*-?[ \t]*(?:alert|record):[ \t]+\S",
        also=r"^[ \t]*-?[ \t]*expr:",
    ),
    Kind(
        "a dashboard of Grafana (JSON)",
        "",
        _DIFFERENT_OUTPUTS,
        mark=r'"(?:gridPos|fieldConfig|templating|schemaVersion|legendFormat|fieldOptions)"\s{0,9}:',
    ),
)

_CLOUDS = (
    Kind(
        "an answer of Alibaba Cloud's API",
        "the lag and the connections of a group",
        _OF_CLOUD,
        mark=(
            r'"(?:DetailInTopicList|DetailInTopicDo|ConsumerConnectionInfo(?:List|Do)|ConnectionDo'
            r"|SubscribeInfoDo|PublishInfoDo|RebalanceOK|topicLagMap|inflightCount"
            r'|consumerGroupId)"\s{0,9}:'
        ),
    ),
    Kind(
        "an answer of Tencent Cloud's API",
        "the lag and the clients of a group",
        _OF_CLOUD,
        mark=(
            r'"(?:ConsumerLag|ConsumerNum|ConsumeMessageOrderly|ConsumerGroupType'
            r'|RocketMQ[A-Za-z]{1,40})"\s{0,9}:|"Response"\s{0,9}:\s{0,99}\{'
        ),
    ),
    Kind(
        "an answer of Huawei Cloud's API",
        "the offsets and the clients of a group",
        _OF_CLOUD,
        mark=(
            r'"(?:retry_max_time|from_beginning|group_desc|client_addr|consumers_num)"\s{0,9}:'
            r'|"queues"\s{0,9}:\s{0,99}\[\s{0,99}\{\s{0,99}"(?:id|lag)"\s{0,9}:'
        ),
    ),
    Kind(
        "an answer of a cloud's API (of AWS' form)",
        "settings of an instance",
        _OF_CLOUD,
        mark=r'"(?:ResponseMetadata|HTTPStatusCode|BrokerArn|x-amzn-requestid)"\s{0,9}:',
    ),
    Kind(
        "an answer of a cloud's API",
        "settings or the lag of an instance",
        _OF_CLOUD,
        mark=r'"(?:RequestId|requestId|request_id)"\s{0,9}:\s{0,9}"',
    ),
)

_DASHBOARD = (
    Kind(
        "JSON of RocketMQ Dashboard or of a broker",
        "the clients of a group",
        CLIENTS,
        mark=r'"connectionSet"\s{0,9}:',
    ),
    Kind(
        "JSON of RocketMQ Dashboard",
        "the offsets and the owners of a group's queues",
        "mqadmin consumerProgress -g GROUP -s true prints the same",
        mark=r'"queueStatInfoList"\s{0,9}:',
    ),
    Kind(
        "JSON of RocketMQ Dashboard",
        "the route of a topic",
        ROUTE,
        mark=r'"errMsg"\s{0,9}:',
        also=r'"queueDatas"\s{0,9}:',
    ),
    Kind(
        "JSON of RocketMQ Dashboard",
        "one page of the dashboard",
        _DIFFERENT_OUTPUTS,
        mark=r'"errMsg"\s{0,9}:',
        also=r'"status"\s{0,9}:\s{0,9}-?\d',
    ),
    Kind(
        "JSON of a broker's consume statistics",
        "the offsets of a group on one broker",
        LAG,
        mark=(
            r'"offsetTable"\s{0,9}:\s{0,99}\{\s{0,99}"?\{[^{}]{1,900}\}"?\s{0,9}:\s{0,9}\{'
            r'|"consumeTps"\s{0,9}:'
        ),
    ),
)

_DEPLOYMENT = (
    Kind(
        "a manifest of the RocketMQ operator",
        "how many brokers and name servers are wanted",
        ROUTE,
        mark=r'apiVersion"?[ \t]*:[ \t]*"?rocketmq\.apache\.org/',
    ),
    Kind(
        "output of kubectl get",
        "the addresses and the age of pods, if -o wide was given",
        CLIENTS,
        line=(
            r"(?:NAMESPACE[ \t]+)?NAME[ \t]+READY[ \t]+(?:STATUS|UP-TO-DATE|AGE)"
            r"|(?:\S{1,255}[ \t]+){1,2}\d+/\d+[ \t]+(?:Running|Pending|Completed|Terminating|Error"
            r"|CrashLoopBackOff|Unknown|\w+Err\w*)[ \t]+\d"
        ),
    ),
    Kind(
        "a manifest or an object of Kubernetes",
        "how many pods are wanted, and their addresses",
        CLIENTS,
        line=(
            r'[ \t{-]*"?apiVersion"?[ \t]*:[ \t]*"?(?!rmqalloc)[a-z0-9.]{1,100}(?:/v\d\w{0,20})?"?,?[ \t]*$'
            r'|[ \t]*"?(?:creationTimestamp|resourceVersion|imagePullPolicy'
            r'|terminationGracePeriodSeconds|containerID|hostIP)"?[ \t]*:'
        ),
    ),
    Kind(
        "output of kubectl describe",
        "the state of one object",
        CLIENTS,
        line=(
            r"(?:Name|Namespace|Node|Labels|Annotations|Controlled By|QoS Class"
            r"|Tolerations):[ \t]{2,40}\S"
        ),
        also=r"^(?:Namespace|Status|Containers|Conditions|Events|Start Time|Priority|Volumes|Node|Labels):",
    ),
    Kind(
        "a file of Docker Compose",
        "which servers are started",
        _DIFFERENT_OUTPUTS,
        line=r"[ \t]+(?:container_name|depends_on)[ \t]*:|services:[ \t]*$",
        file_name=r"(?:docker-)?compose[\w.-]{0,40}\.ya?ml",
    ),
    Kind(
        "a file of values for a Helm chart",
        "how many servers are wanted",
        _DIFFERENT_OUTPUTS,
        line=(
            r"[ \t]*(?:replicaCount|nameOverride|fullnameOverride|imagePullSecrets|nodeSelector"
            r"|tolerations|storageClass(?:Name)?|persistence)[ \t]*:"
        ),
        file_name=r"values[\w.-]{0,60}\.ya?ml",
    ),
    Kind(
        "output of docker ps",
        "",
        _DIFFERENT_OUTPUTS,
        line=r"CONTAINER ID[ \t]+IMAGE|[0-9a-f]{12}[ \t]{2,40}\S{1,255}[ \t]{2,40}\"",
    ),
)

_CONFIGURATION = (
    Kind(
        "a file of access keys (tools.yml, plain_acl.yml)",
        "",
        f"{_SECRETS}; for a running cluster it is given as --acl-file",
        line=(
            r"[ \t-]*[\\x22']?(?:accessKey|secretKey|globalWhiteRemoteAddresses|whiteRemoteAddress"
            r"|defaultTopicPerm|defaultGroupPerm|topicPerms|groupPerms)[\\x22']?[ \t]*[:=]"
        ),
        file_name=r"(?:tools|plain_acl)\.ya?ml",
    ),
    Kind(
        "the configuration of a client (application.yml or properties)",
        "which groups and topics a program is meant to use",
        f"{CLIENTS}; {OWNERS}",
        line=(
            r"[ \t]*(?:spring\.cloud\.stream\.)?rocketmq(?:\.[\w.\[\]-]{1,200}[ \t]*[=:]"
            r"|[ \t]*:[ \t]*$)|[ \t]*(?:name-server|name-srv-addr|consume-thread-max"
            r"|consume-thread-number|consume-message-batch-max-size|pull-batch-size)[ \t]*[:=]"
        ),
        file_name=r"(?:application|bootstrap)[\w-]{0,40}\.(?:ya?ml|properties)",
    ),
    Kind(
        "the configuration of a proxy (rmq-proxy.json)",
        "",
        _DIFFERENT_OUTPUTS,
        mark=r'"(?:rocketMQClusterName|proxyMode|grpcServerPort|remotingListenPort)"\s{0,9}:',
        file_name=r"rmq-proxy\.json",
    ),
    Kind(
        "the configuration of a broker (broker.conf)",
        "settings of one broker, such as its name",
        ROUTE,
        line=(
            r"[ \t]*(?:brokerClusterName|brokerName|brokerId|brokerRole|flushDiskType|fileReservedTime"
            r"|deleteWhen|storePathRootDir|storePathCommitLog|autoCreateTopicEnable"
            r"|autoCreateSubscriptionGroup|brokerIP[12]|defaultTopicQueueNums"
            r"|enablePropertyFilter)[ \t]?=(?!  )"
        ),
        file_name=r"broker[\w-]{0,40}\.(?:conf|properties)",
    ),
    Kind(
        "the configuration of a RocketMQ server",
        "",
        _DIFFERENT_OUTPUTS,
        line=(
            r"[ \t]*(?:rocketmqHome|kvConfigPath|configStorePath|namesrvAddr|listenPort"
            r"|serverWorkerThreads|controllerDLegerPeers|enableControllerInNamesrv)[ \t]?=(?!  )"
        ),
        file_name=r"(?:namesrv|controller|namesrv-\w{1,20})\.(?:conf|properties)",
    ),
    Kind(
        "the configuration of logging",
        "",
        _DIFFERENT_OUTPUTS,
        line=r"[ \t]*<(?:appender|appender-ref|logger|configuration)[ >]",
    ),
)

_STORE = (
    Kind(
        "a file of mqadmin exportMetadata",
        "the topics and the settings of groups of a cluster, without clients",
        f"{ROUTE}; {CLIENTS}",
        mark=r'"exportTime"\s{0,9}:',
    ),
    Kind(
        "a file of mqadmin exportConfigs or exportMetrics",
        "the settings and the load of brokers",
        _DIFFERENT_OUTPUTS,
        mark=(
            r'"(?:brokerConfigs|clusterScale|namesrvSize|evaluateReport|totalOneDayNum'
            r'|runtimeQuota)"\s{0,9}:'
        ),
    ),
    Kind(
        "topics.json of a broker's store",
        "the topics of one broker with their numbers of queues",
        ROUTE,
        mark=(r'"topicConfigTable"\s{0,9}:|"topicFilterType"\s{0,9}:'),
        file_name=r"topics\.json(?:\.bak)?",
    ),
    Kind(
        "subscriptionGroup.json of a broker's store",
        "the names and the settings of groups, without their clients",
        CLIENTS,
        mark=(
            r'"subscriptionGroupTable"\s{0,9}:|"(?:consumeBroadcastEnable|consumeFromMinEnable'
            r'|whichBrokerWhenConsumeSlowly)"\s{0,9}:'
        ),
        file_name=r"subscriptionGroup\.json(?:\.bak)?",
    ),
    Kind(
        "consumerFilter.json of a broker's store",
        "the SQL filters of groups",
        CLIENTS,
        mark=r'"(?:filterDataByTopic|bloomFilterData|compiledExpression|groupFilterData)"\s{0,9}:',
        file_name=r"consumerFilter\.json(?:\.bak)?",
    ),
    Kind(
        "messageRequestMode.json of a broker's store",
        "which groups a broker has set to POP mode",
        CLIENTS,
        mark=r'"(?:messageRequestModeMap|popShareQueueNum)"\s{0,9}:',
        file_name=r"messageRequestMode\.json(?:\.bak)?",
    ),
    Kind(
        "topicQueueMapping.json of a broker's store",
        "the queues of static topics",
        ROUTE,
        mark=r'"topicQueueMapping(?:DetailMap|InfoMap)"\s{0,9}:|"hostedQueues"\s{0,9}:',
        file_name=r"topicQueueMapping\.json(?:\.bak)?",
    ),
    Kind(
        "consumerOrderInfo.json of a broker's store",
        "messages that POP clients of ordered groups have not acknowledged",
        LAG,
        mark=r'"popTime"\s{0,9}:\s{0,9}\d',
        file_name=r"consumerOrderInfo\.json(?:\.bak)?",
    ),
    Kind(
        "offsets.json, the local offsets of a broadcasting client",
        "how far one client of a broadcasting group has read",
        f"{CLIENTS}; mqadmin consumerStatus -g GROUP -i ID shows the offsets of that client",
        mark=r'"offsetTable"\s{0,9}:\s{0,99}\{\s{0,99}"?\{[^{}]{1,900}\}"?\s{0,9}:\s{0,9}-?\d',
        file_name=r"offsets?\.json(?:\.bak)?",
    ),
    Kind(
        "delayOffset.json of a broker's store",
        "how far delayed messages are delivered",
        LAG,
        mark=r'"offsetTable"\s{0,9}:\s{0,99}\{\s{0,99}"?\d{1,3}"?\s{0,9}:\s{0,9}\d',
        file_name=r"delayOffset\.json(?:\.bak)?",
    ),
    Kind(
        "consumerOffset.json of a broker's store",
        "the offsets of all groups on one broker",
        LAG,
        line=r'[ \t]*"[^"@\s]{1,255}@[^"\s]{1,255}"[ \t]*:[ \t]*\{[ \t]*(?:"?\d{1,9}"?[ \t]*:|$)',
        mark=r'"(?:offsetTable|lmqOffsetTable|pullOffsetTable|resetOffsetTable)"\s{0,9}:',
        file_name=r"(?:lmqConsumerOffset|consumerOffset)\.json(?:\.bak)?",
    ),
    Kind(
        "a file of a broker's store that is no text (checkpoint, commit log, consume queue)",
        "",
        _DIFFERENT_OUTPUTS,
        file_name=r"checkpoint|abort|timercheck|\d{20}|\d{17}",
    ),
    Kind(
        "kvConfig.json of a name server",
        "",
        _DIFFERENT_OUTPUTS,
        mark=r'"configTable"\s{0,9}:',
        file_name=r"kvConfig\.json",
    ),
)


_HEADS = {form.command: rf"[ \t]*(?:{form.head})" for form in OTHERS}
_INSTEAD = {form.command: form.instead for form in OTHERS}


def _output(command: str, shows: str, line: str = "", mark: str = "", instead: str = "") -> Kind:
    """Return the kind of the output of a command, by its head in `OTHERS` and by its rows."""
    line = "|".join(filter(None, [_HEADS.get(command), line]))
    instead = instead or _INSTEAD[command]
    return Kind(f"the output of mqadmin {command}", shows, instead, line, mark)


_FAILURES = (
    Kind(
        "a shell's error: mqadmin was not found",
        "",
        "run it by its path (ROCKETMQ_HOME/bin/mqadmin)",
        line=(
            r"[^\n]{0,200}\bmqadmin(?:\.cmd|\.sh)?: (?:command )?not found"
            r"|[^\n]{0,200}\bmqadmin(?:\.cmd|\.sh)?['\\x22]?: No such file"
            r"|'?(?:\S{0,200})mqadmin(?:\.cmd)?'? (?:is not recognized|不是)"
            r"|[^\n]{0,200}executable file not found"
        ),
    ),
    Kind(
        "mqadmin's list of its commands",
        "",
        f"mqadmin was run without a command; {_DIFFERENT_OUTPUTS}",
        line=(
            r"The most commonly used mqadmin commands are|See 'mqadmin help <command>'"
            r"| {3}[a-z]\w{2,34} {2,40}[A-Z][a-z]+ "
        ),
    ),
    Kind(
        "the usage text of an mqadmin command",
        "",
        "an option was missing or wrong; topicRoute needs -t TOPIC and consumerConnection -g GROUP, both -n HOST:9876",
        line=r"usage: mqadmin | {0,4}-\w,--[a-zA-Z]{2,40}(?: <arg>)? {2,40}\S",
    ),
    Kind(
        "mqadmin's error that it has no such command",
        "",
        f"look at its spelling; {_DIFFERENT_OUTPUTS}",
        line=r"The sub command [^\n]{0,100} not exist|(?:unknown|Unknown) (?:sub ?)?command\b",
    ),
    Kind(
        "mqadmin's error about its options",
        "",
        _AGAIN,
        line=(
            r"\[error\] Make sure the specified clusterName|(?:Missing required option"
            r"|Unrecognized option|Missing argument for option)"
        ),
        mark=r"org\.apache\.commons\.cli\.\w{1,60}Exception",
    ),
    Kind(
        "an error of Java: mqadmin did not start",
        "",
        "set JAVA_HOME to a Java that this mqadmin runs on, and run the command again",
        line=(
            r"[^\n]{0,200}Unrecognized (?:VM )?option"
            r"|Error: Could not (?:create the Java Virtual Machine|find or load main class)"
            r"|Error occurred during initialization of (?:VM|boot layer)"
            r"|[^\n]{0,100}UnsupportedClassVersionError|ERROR: Please set the JAVA_HOME"
            r"|[^\n]{0,100}JAVA_HOME[^\n]{0,40}(?:is not set|not defined)|Invalid maximum heap size"
        ),
    ),
    Kind(
        "the report of a crashed JVM (hs_err)",
        "",
        _AGAIN,
        line=(
            r"# A fatal error has been detected by the Java Runtime|# JRE version:"
            r"|# Problematic frame:"
        ),
    ),
    Kind(
        "an error of an mqadmin command",
        "",
        "fix the cause in its line `Caused by`, and run the command again",
        mark=(
            r"org\.apache\.rocketmq\.tools\.command\.\w|com\.alibaba\.rocketmq\.tools\."
            r"|SubCommand(?:Exception)?\b[^\n]{0,60} command failed"
        ),
    ),
    Kind(
        "an error of the shell or of kubectl, docker or ssh",
        "",
        _AGAIN,
        line=(
            r"(?:Error from server|Unable to connect to the server|error: |Error response from daemon"
            r"|error from daemon|command terminated with exit code|ssh: connect to host"
            r"|Permission denied \(publickey)"
            r"|(?:-?[\w/]{1,40}: )?(?:line \d+: )?[\w./-]{1,100}: (?:command not found"
            r"|No such file or directory|Permission denied|not found)[ \t]*$"
        ),
    ),
)

_COMMANDS = (
    Kind(
        "the output of mqadmin clusterRT",
        "how long sending takes",
        ROUTE,
        line=(
            r"#Cluster Name[ \t]+#Broker Name[ \t]+#RT\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\|[^"
            r"|\n]{1,80}\|[^|\n]{1,80}\|[^|\n]{1,80}\|\d+[ \t]*$"
        ),
    ),
    _output(
        "clusterList",
        "the brokers of a cluster, without topics and groups",
        line=r"[ \t]*(?:\S{1,255}[ \t]+){2}\d+[ \t]+\S{1,255}:\d+[ \t]+V\d\S{0,40}[ \t]+\d[\d.]{0,20}\(",
    ),
    _output(
        "topicList -c",
        "the topics and groups of a cluster, without queues and clients",
    ),
    _output(
        "statsAll",
        "the lag of each group and topic, without queues and clients",
        line=(
            r"[ \t]*(?:\S{1,255}[ \t]+){1,2}\d+[ \t]+\d+\.\d\d[ \t]+(?:\d+\.\d\d[ \t]+)?\d+[ \t]+(?:\d+"
            r"|NO_CONSUMER)[ \t]*$"
        ),
    ),
    _output(
        "brokerConsumeStats",
        "the offsets of all groups on one broker",
        line=(
            r"[ \t]*(?:\S{1,255}[ \t]+){2}(?=\d{0,255}[^\d\s])\S{1,255}"
            r"[ \t]+\d{1,9}(?:[ \t]+\d+){2}[ \t]+-?\d+[ \t]+\d{4}-\d\d-\d\d "
        ),
        instead=LAG,
    ),
    _output(
        "topicStatus",
        "the offsets of a topic's queues, without groups",
        line=(
            r"[ \t]*\S{1,255}[ \t]+\d{1,9}[ \t]+\d+[ \t]+\d+[ \t]{2,40}\d{4}-\d\d-\d\d "
            r"|Topic Put TPS: "
        ),
    ),
    _output(
        "producerConnection",
        "the producers of a topic, which own no queues",
        line=r"[ \t]*0\d{3}[ \t]+\S{1,255}[ \t]+\S{1,255}:\d+[ \t]+[A-Z_]{1,40}[ \t]+\S{1,80}[ \t]*$",
    ),
    _output(
        "producer",
        "the producers of a broker, which own no queues",
        line=r"producer group \(",
        instead=CLIENTS,
    ),
    _output(
        "getConsumerStatus",
        "which client of a group has which queues of a topic",
        line=(
            r"[ \t]*(?:get consumer status from client\.|#clientId[ \t]+#brokerName)"
            r"|[ \t]*\S{1,255}@\S{1,255}(?:[ \t]+\S{1,255})[ \t]+\d{1,9}[ \t]+\d+[ \t]*$"
        ),
        instead=OWNERS,
    ),
    _output(
        "brokerStatus",
        "the load of one broker",
        line=(
            r"[ \t]*(?:\S{1,255}:\d+[ \t]+)?(?:bootTimestamp|brokerVersion\w{0,20}|\w{0,40}Tps"
            r"|\w{1,40}ThreadPoolQueue\w{1,40}|commitLog\w{1,60}|consumeQueueDiskRatio|msg(?:Put"
            r"|Get)Total\w{1,40}|dispatch\w{1,40}|pageCacheLockTimeMills|put\w{1,60}|remain\w{1,60}"
            r"|earliestMessageTimeStamp|runtime)[ \t]*: "
        ),
        instead=_DIFFERENT_OUTPUTS,
    ),
    _output(
        "getConsumerConfig",
        "the settings of a group",
        line=(
            r"={20,40}[^=\n]{1,300}={20,40}[ \t]*$|(?:groupName|consumeEnable|retryQueueNums"
            r"|consumeBroadcastEnable|whichBrokerWhenConsumeSlowly)[ ]*=  "
        ),
        instead=CLIENTS,
    ),
    _output(
        "getNamesrvConfig",
        "settings of a name server",
        line=(
            r"(?:kvConfigPath|productEnvName|clusterTest|orderMessageEnable"
            r"|scanNotActiveBrokerInterval|supportActingMaster)[ ]*=  "
        ),
        instead=_DIFFERENT_OUTPUTS,
    ),
    _output(
        "getControllerConfig",
        "settings of a controller",
        line=(
            r"(?:controllerDLeger\w{1,40}|enableElectUncleanMaster|controllerStorePath"
            r"|controllerType)[ ]*=  "
        ),
        instead=_DIFFERENT_OUTPUTS,
    ),
    _output(
        "getBrokerConfig",
        "settings of one broker",
        line=(
            r"={12}[^=\n]{1,100}(?:={5}[^=\n]{1,100})?={12}[ \t]*$"
            r"|[a-zA-Z][\w.]{1,79}[ ]{0,80}=  (?=\S|$)"
        ),
        instead=ROUTE,
    ),
    _output(
        "queryMsgById",
        "one message",
        line=(
            r"(?:OffsetID|Message Body(?: Path)?|Born Timestamp|Store Timestamp|Reconsume Times"
            r"|CommitLog Offset|Queue Offset|System Flag|Born Host|Store Host):"
            r"|MessageTrack \[consumerGroup="
        ),
        instead=_DIFFERENT_OUTPUTS,
    ),
    _output(
        "queryMsgByKey",
        "where messages of a key are",
        line=r"#Message ID[ \t]+#QID|[0-9A-F]{32}[ \t]+\d{1,9}[ \t]+\d+[ \t]*$",
        instead=_DIFFERENT_OUTPUTS,
    ),
    _output(
        "queryMsgTraceById",
        "producer and consumers of one message",
        line=(
            r"#Type[ \t]+#(?:Producer|Consumer)Group|(?:Pub"
            r"|Sub)[ \t]+\S{1,255}[ \t]+\S{1,255}[ \t]+\d{4}-\d\d-\d\d "
        ),
        instead=OWNERS,
    ),
    _output(
        "printMsg, printMsgByQueue or consumeMessage",
        "messages of a topic",
        line=(
            r"MSGID: |minOffset=\d+, maxOffset=\d+, MessageQueue"
            r"|MessageQueue \[[^\n]{1,400}\] (?:print msg finished|no matched msg)"
            r"|The old(?:l)?er \d+ message|Consume ok\b|Tag: [^\n]{1,80} Count: \d"
        ),
        instead=_DIFFERENT_OUTPUTS,
    ),
    _output(
        "sendMessage or checkMsgSendRT",
        "how long sending takes",
        line=(
            r"#Broker Name[ \t]+#QID[ \t]+#Send Result|Avg RT: |rt=\d+ms, SendResult="
            r"|[ \t]*\S{1,255}[ \t]+\d{1,9}[ \t]+(?:true|false|SEND_OK"
            r"|FLUSH_\w{1,20})[ \t]+\w{1,64}[ \t]*$"
        ),
        instead=ROUTE,
    ),
    _output(
        "updateTopic",
        "settings of one topic",
        line=(
            r"create topic to \S{1,255} success|TopicConfig \[topicName=|set (?:broker"
            r"|cluster) orderConf\.|update topic perm from"
        ),
        instead=ROUTE,
    ),
    _output(
        "updateSubGroup",
        "settings of one group",
        line=r"create subscription group to \S{1,255} success|(?:Simple)?SubscriptionGroupConfig[ \[{]",
        instead=CLIENTS,
    ),
    _output(
        "cloneGroupOffset",
        "that offsets were copied",
        line=r"clone group offset success",
        instead=LAG,
    ),
    _output(
        "resetOffsetByTime or skipAccumulatedMessage",
        "offsets that were reset",
        line=(
            r"[ \t]*(?:start )?(?:reset|rollback) consumer offset"
            r"|#brokerName[ \t]+#queueId[ \t]+#(?:offset|brokerOffset)"
        ),
        instead=LAG,
    ),
    _output(
        "getSyncStateSet",
        "which replicas of a broker are in sync",
        line=r"#(?:MasterBrokerId|MasterEpoch|SyncStateSet\w{1,10})\b|(?:Not)?InSyncReplica:",
        instead=ROUTE,
    ),
    _output(
        "haStatus",
        "how far replicas of a broker are",
        line=(
            r"#(?:MasterAddr|MasterCommitLogMaxOffset|SlaveNum|InSyncSlaveNum|SlaveAddr"
            r"|CommitLogMaxOffset|TransferSpeed\(KB/s\)|MasterFlushOffset)[ \t]"
        ),
        instead=ROUTE,
    ),
    _output(
        "getControllerMetaData, getBrokerEpoch or electMaster",
        "which controller or broker leads",
        line=(
            r"#(?:ControllerGroup|ControllerLeaderId|ControllerLeaderAddress|Epoch|BrokerMasterAddr"
            r"|brokerId|clusterName)\b[:\t]|#Peer:"
        ),
        instead=ROUTE,
    ),
    _output(
        "wipeWritePerm or addWritePerm",
        "that a broker takes no more messages, or does again",
        line=r"(?:wipe|add) write perm of broker\[",
        instead=ROUTE,
    ),
    _output(
        "startMonitoring",
        "groups whose clients differ or hang",
        mark=r"\[MONITOR\] ",
        instead=OWNERS,
    ),
    _output(
        "queryCq",
        "entries of a queue",
        line=r"Queue data:[ \t]*$|(?:Subscription|Filter) data:|max: \d+, min: \d",
        instead=LAG,
    ),
    _output(
        "listUser, getUser, listAcl or getAcl",
        "",
        line=r"#UserName[ \t]+#Password|#Subject[ \t]+#PolicyType",
        instead=f"{_SECRETS}; {_DIFFERENT_OUTPUTS}",
    ),
    Kind(
        "an acknowledgement of an mqadmin command",
        "",
        _DIFFERENT_OUTPUTS,
        line=(
            r"export [^\n]{1,400} success|delete (?:topic|subscription group|kv config|user"
            r"|acl)\b[^\n]{1,400} success|(?:create|update|copy|set|add|remove|clear|submit"
            r"|reset)[^\n]{1,400}\bsuccess\b|(?:get|update|delete) orderConf success"
        ),
    ),
    Kind(
        "the output of mqadmin rocksDBConfigToJson",
        "settings in a broker's store",
        f"{ROUTE}; {CLIENTS}",
        line=r"\d+, Key: [^\n]{1,400}, Value: ",
    ),
)

_OTHER_BROKERS = (
    Kind(
        "output of Kafka's tools",
        "groups of Kafka, which are not groups of RocketMQ",
        _DIFFERENT_OUTPUTS,
        line=(
            r"(?:GROUP[ \t]+)?TOPIC[ \t]+PARTITION[ \t]+CURRENT-OFFSET"
            r"|Consumer group '[^\n]{1,255}' (?:has|is)|(?:\S{1,255}[ \t]+){2}\d+[ \t]+(?:\d+"
            r"|-)[ \t]+(?:\d+|-)[ \t]+(?:\d+|-)[ \t]+\S{1,255}[ \t]+(?:/\S{1,255}|-)[ \t]+\S"
            r"|[ \t]*Topic: \S{1,255}[ \t]+(?:TopicId|PartitionCount|Partition):"
        ),
    ),
    Kind(
        "output of RabbitMQ's tools",
        "queues of RabbitMQ, which are not queues of RocketMQ",
        _DIFFERENT_OUTPUTS,
        line=(
            r"Listing (?:queues|consumers|connections|channels|exchanges|bindings|vhosts)\b"
            r"|Timeout: [\d.]{1,20} seconds|name\t(?:messages|consumers|type)"
        ),
    ),
    Kind(
        "JSON of Pulsar's statistics",
        "subscriptions of Pulsar, which are not groups of RocketMQ",
        _DIFFERENT_OUTPUTS,
        mark=r'"(?:msgRateIn|msgRateOut|msgBacklog|unackedMessages|averageMsgSize)"\s{0,9}:',
    ),
)

_JVM = (
    Kind(
        "a list of a JVM's threads (jstack)",
        "stack traces of one client",
        f"{OWNERS}; with -s it holds the threads as well",
        line=(
            r'Full thread dump |"[^"\n]{1,200}" (?:#\d+ )?(?:\[\d+\] )?(?:daemon )?prio='
            r"|[ \t]+java\.lang\.Thread\.State: |[ \t]+- (?:locked|waiting on|parking to wait for) +<"
        ),
    ),
    Kind(
        "a histogram of a JVM's heap (jmap)",
        "",
        _DIFFERENT_OUTPUTS,
        line=r" ?num +#instances +#bytes| {1,4}\d+: +\d+ +\d+ +[\[\w]",
    ),
    Kind(
        "a log of a JVM's garbage collection",
        "pauses of one process",
        CLIENTS,
        line=r"\[[^\]\n]{1,60}\](?:\[[^\]\n]{1,60}\]){0,4}\[gc[,\w ]{0,40}\]",
        mark=r"\[(?:Full )?GC (?:\(|pause|\d)|\[(?:PSYoungGen|ParNew|CMS-\w{1,40}): ",
        file_name=r"(?:rmq_)?\w{0,20}gc[\w.-]{0,60}\.log(?:\.\d{1,3})?",
    ),
)

_LOGS = (
    Kind(
        "the statistics log of a broker or client (stats.log)",
        "how many messages a group got",
        LAG,
        words=(
            "] Stats In One ",
            "] Stats in one ",
        ),
        file_name=r"stats\.log",
    ),
    Kind(
        "the lock log of a broker (lock.log)",
        "which client of an ordered group locked which queue, and when",
        OWNERS,
        words=(
            "RebalanceLockManager#",
            "tryLockBatch, ",
            "tryLock, message queue",
            "tryLock, the message queue",
        ),
        file_name=r"lock\.log",
    ),
    Kind(
        "the log of a proxy (proxy.log)",
        "which clients came and left, and when",
        f"{CLIENTS}; {OWNERS}",
        words=(
            "rocketmq-proxy startup",
            "GrpcRequestExecutorThread",
            "TopicRouteInfoManagerScheduledThread",
            "RenewalWorkerThread",
            "RemotingTopicRouteThread",
            "RemotingHeartbeatThread",
            "ProducerThreadPoolExecutor",
            "ConsumerThreadPoolExecutor",
            "RouteThreadPoolExecutor",
            "ClientManagerThreadPoolExecutor",
            "receiptHandleProcessor",
            "grpc server ",
            "grpc client settings",
            "grpc channel when client unregister",
        ),
        file_name=r"proxy(?:_\w{1,20})?\.log",
    ),
    Kind(
        "the log of a controller",
        "which broker of a set became its master, and when",
        ROUTE,
        words=(
            "ControllerRequestExecutorThread_",
            "ElectMasterEvent",
            "elect-master",
            "elect master",
            "Elect new master",
            "Elect a new master",
            "DLedgerController",
            "JRaftController",
            " change role to ",
        ),
        file_name=r"controller(?:_\w{1,20})?\.log",
    ),
    Kind(
        "the log of a name server (namesrv.log)",
        "which brokers came and left, and when",
        ROUTE,
        words=(
            "NSScheduledThread",
            "NSScanScheduledThread",
            "brokerAddrTable",
            "topicQueueTable",
            "clusterAddrTable",
            "brokerLiveTable",
            "new broker registered, ",
            "unregisterBroker, remove",
            "Register topic route:",
            "new topic registered, ",
            "scanNotActiveBroker",
        ),
        file_name=r"namesrv(?:_\w{1,20})?\.log",
    ),
    Kind(
        "the store log of a broker (store.log)",
        "how messages were written",
        _DIFFERENT_OUTPUTS,
        words=(
            "ReputMessageService",
            "FlushRealTimeService",
            "FlushConsumeQueueService",
            "CommitRealTimeService",
            "GroupCommitService",
            "AllocateMappedFileService",
            "StoreStatsService",
            "CleanCommitLogService",
            "CleanConsumeQueueService",
            "HAService",
            "StoreScheduledThread",
            "[STORETPS]",
            "[PAGECACHERT]",
            "[NOTIFYME]",
            "[TOTALPUTMSG",
            "recover next ",
            "disk space OK",
            "physic queue",
            "logics queue",
        ),
        file_name=r"(?:store|storeerror|remoting|transaction|filter|watermark|commercial|pop|coldctr|timer|tiered_?store|dledger)\.log",
    ),
    Kind(
        "the log of a broker (broker.log)",
        "which clients of a group came and left, and when",
        f"{CLIENTS}; {OWNERS}",
        line=r"The (?:broker|Name Server|Controller|broker container)\b[^\n]{0,200}boot success",
        words=(
            "new consumer connected, group:",
            "new producer connected, group:",
            "subscription changed, ",
            "unregister a consumer[",
            "unregister a producer[",
            "unregister consumer ok",
            "ClientManageThread_",
            "AdminBrokerThread_",
            "ConsumerManageThread_",
            "LoadBalanceProcessorThread_",
            "PullMessageThread_",
            "SendMessageThread_",
            "EndTransactionThread_",
            "QueryMessageThread_",
            "AckMessageThread_",
            "ScheduleMessageTimerThread_",
            "BrokerControllerScheduledThread",
            "BrokerControllerHeartbeatScheduledThread",
            "BrokerControllerSyncBrokerScheduledThread",
            "ClientHousekeepingScheduledThread",
            "BrokerFastFailureScheduledThread",
            "PullRequestHoldService",
            "QueryLoad: ",
            "register broker[",
        ),
        file_name=r"broker(?:_\w{1,20})?\.log",
    ),
    Kind(
        "the log of a client of the gRPC protocol (rocketmq-clients)",
        "queues assigned to one client, with times",
        f"{CLIENTS}; clients of this protocol share queues (POP), so there may be no owners",
        words=(
            "Assignments of topic=",
            "cquired empty assignments from remote",
            "elemetry session",
            "the rocketmq client",
            "[o.a.r.c.j.",
            "telemeter to ",
            "Fetch topic route ",
            "defaultClientSession",
            "rocketmq-python-client",
        ),
        file_name=r"rocketmq_client_go\.log",
    ),
    Kind(
        "the log of the C++ client of the gRPC protocol (rocketmq-clients)",
        "queues assigned to one client, with times",
        f"{CLIENTS}; clients of this protocol share queues (POP), so there may be no owners",
        line=r"\d{4}-\d\d-\d\d [\d:.]{8,20} \[--[TDIWEC]--\] \[",
    ),
    Kind(
        "the log of a Go client (rocketmq-client-go)",
        "queues that one client got, with times",
        OWNERS,
        line=r"(?:DEBU|INFO|WARN|ERRO|FATA)\[\d+\] ",
        words=(
            "level=info msg=",
            "level=warning msg=",
            "level=error msg=",
            "level=debug msg=",
            "level=fatal msg=",
            '"level":"info"',
            '"level":"warning"',
            '"level":"error"',
            '"level":"debug"',
        ),
        also=r"MessageQueue|consumerGroup|[Bb]alance|\bbroker|\bmq\b|clientID|topic",
    ),
    Kind(
        "the log of the C++ client, or of the Python or Node client over it",
        "queues that one client got, with times",
        OWNERS,
        line=(
            r"\[\d{4}-[A-Z][a-z]{2}-\d\d [\d:.]{8,20}\]\((?:trace|debug|info|warning|error|fatal)\):"
            r"|Allocation result for \[Consumer Group|Total Queue :#\d"
            r"|MessageQueue \[topic=[^\n]{1,400}, queueId=\d+\](?:\[\w{1,60}:\d+\])?[ \t]*$"
        ),
        file_name=r"rocketmq_client_[\d%Ymd-]{1,40}\.log",
    ),
    Kind(
        "the log of a .NET client (NewLife.RocketMQ)",
        "queues that one client got, with times",
        OWNERS,
        line=r"\d\d:\d\d:\d\d\.\d{3} +\d+ [A-Z] ",
    ),
    Kind(
        "the log of a PHP program",
        "actions of one client",
        OWNERS,
        line=(
            r"(?:\[\d\d-[A-Z][a-z]{2}-\d{4} [^\]\n]{5,40}\] )?PHP (?:Fatal error|Warning|Notice"
            r"|Parse error|Deprecated|Stack trace):|#\d+ \S{1,300}\.php\(\d+\): "
        ),
        words=(".php on line ",),
    ),
    Kind(
        "the log of a Python program",
        "actions of one client",
        OWNERS,
        line=(
            r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]{1,100}:"
            r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?:- |\[)?(?:[\w.]{1,60} - )?(?:DEBUG|INFO|WARNING"
            r"|ERROR|CRITICAL)\]?(?: - |: | \[?client)"
        ),
    ),
    Kind(
        "the log of a Node client",
        "queues that one client got, with times",
        OWNERS,
        words=(
            "[mq:",
            "[ons:",
            "ali-rocketmq",
            "ali-ons",
            "mq:consumer",
            "mq:client",
            "mq:rebalance",
        ),
    ),
    Kind(
        "the log of a Java client",
        "queues that one client got, with times",
        f"its lines `rebalanced result changed` are read where they are whole; {OWNERS}",
        words=("rebalanced result changed", "rebalance result changed"),
        file_name=r"(?:rocketmq_client|ons|rocketmq-client)\.log(?:\.\d{1,3})?",
    ),
    Kind(
        "a part of a Java client's log that shows no allocation",
        "heartbeats and pulls of one client",
        f"its lines `rebalanced result changed` show the queues of one client; {OWNERS}",
        words=(
            "RebalanceService",
            "PullMessageService",
            "MQClientFactoryScheduledThread",
            "NettyClientPublicExecutor",
            "NettyClientWorkerThread",
            "NettyClientSelector",
            "ConsumeMessageThread_",
            "doRebalance, ",
            "send heart beat to broker[",
            "receive broker's notification[",
            "RocketmqClient",
            "NETTY CLIENT PIPELINE",
            "Pull Task is cancelled",
        ),
    ),
)

_READ_WITHOUT_HEAD = (
    Kind(
        "a part of the output of mqadmin consumerProgress -g without its head",
        "the offsets of some queues",
        "keep the line `#Topic  #Broker Name ...` above them, which names the columns",
        line=(
            r"[ \t]*(?:\S{1,255}[ \t]+){2}\d{1,9}(?:[ \t]+\d+){2}[ \t]+(?:\S{1,64}[ \t]+)?-?\d+"
            r"[ \t]+(?:-?\d+[ \t]+)?(?:\d{4}-\d\d-\d\d |N/A)"
            r"|(?:Consume TPS|Consume Diff Total|Diff Total|Consume Inflight Total):[ \t]"
        ),
    ),
    Kind(
        "a part of the output of mqadmin consumerConnection without its head",
        "some clients of a group",
        "keep the line `#ClientId  #ClientAddr ...` above them, which names the columns",
        line=r"[ \t]*(?!0\d)\S{1,255}@\S{1,255}[ \t]+\S{1,255}:\d+[ \t]+[A-Z_]{1,40}[ \t]+(?:V\d|HIGHER)\w{1,40}[ \t]*$",
    ),
    Kind(
        "a part of the output of mqadmin topicRoute -l without its head",
        "some brokers of a topic",
        "keep the line `#ClusterName  #BrokerName ...` above them, which names the columns",
        line=r"[ \t]*\S{1,255}[ \t]+\S{1,255}[ \t]+\{\d+=\S{1,255}:\d+",
    ),
    Kind(
        "a table of mqadmin whose command is not known, or whose head is cut",
        "",
        f"write the output into a file (mqadmin ... > FILE), where nothing cuts its lines; {_DIFFERENT_OUTPUTS}",
        line=r"[ \t]*#[A-Z][A-Za-z]{1,30}(?: Name)?[ \t]{1,80}#[A-Z]",
    ),
)

NOISE = (
    r"(?:OpenJDK|Java HotSpot\(TM\)|IBM J9|Eclipse OpenJ9)[^\n]{0,60} VM warning:"
    r"|(?:NOTE: )?Picked up (?:_JAVA_OPTIONS|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS)\b"
    r"|RocketMQLog: ?WARN\b"
    r"|log4j: ?(?:WARN|ERROR)\b"
    r"|SLF4J(?:\([A-Z]\))?: "
    r"|(?:ERROR|WARN) StatusLogger "
    r"|\d\d:\d\d:\d\d,\d{3} \|-(?:INFO|WARN|ERROR) in "
    r"|\[\d+[.,]\d+s\]\[warning\]"
    r"|WARNING: (?:An illegal reflective access|Illegal reflective access|Please consider reporting this to the maintainers"
    r"|Use --(?:illegal-access|enable-native-access)|All illegal access operations|A terminally deprecated method"
    r"|A restricted method|Restricted methods will be blocked|sun\.misc\.Unsafe|java\.lang\.System::)"
    r"|Warning: (?:Permanently added|Nashorn engine)"
    r"|Defaulted container \"|Defaulting container name to "
    r"|Unable to use a TTY|the input device is not a TTY|Script (?:started|done)\b|Connection to \S{1,255} closed"
)
"""Beginnings of lines that Java, its logging, or the shell prints around the output of mqadmin."""

_TEXTS = (
    Kind(
        "a page (HTML)",
        "",
        _AS_TEXT,
        line=(
            r"[ \t]{0,80}</?(?:div|span|table|tbody|tr|td|th|body|head|script|style|br|p|li|ul|pre"
            r"|code)(?:[ \t][^>\n]{0,300})?/?>"
        ),
    ),
    Kind(
        "an e-mail",
        "",
        _AS_TEXT,
        line=r"(?:Subject|From|To|Date|Sent|主题|发件人|收件人)[:：][ \t]?\S",
        also=r"^(?:MIME-Version|Message-I[dD]|Received|Return-Path|Content-Type|From|Sent|Cc|发送时间|收件人)[:：]",
    ),
    Kind(
        "text of a screenshot, read by a machine (OCR)",
        "",
        _AS_TEXT,
        line=r"#? ?T0pic\b|# (?:Topic|Broker Name|ClientId|Group)\b",
        words=(
            "＃",
            "#QlD",
            "#Q1D",
            "#C1ient",
            "#CIient",
            "Br0ker Narne",
            "Broker Narne",
            "#Brcker",
            "ClientlD",
            "#Cl1ent",
            "#lD",
        ),
    ),
    Kind(
        "the output of commands of the system (ls, ps, top, date, free)",
        "",
        _DIFFERENT_OUTPUTS,
        line=(
            r"total \d+[ \t]*$|[bcdlps-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][.+@]?[ \t]|(?:UID"
            r"|USER)[ \t]+PID\b|[ \t]*PID[ \t]+(?:TTY|USER|PPID)\b|top - \d\d:|%?Cpu\(s\):|(?:KiB|MiB"
            r"|GiB) (?:Mem|Swap)| +total +used +free|(?:Mem|Swap): +\d|Filesystem +\S|(?:tcp"
            r"|udp)6? +\d+ +\d+ |Proto Recv-Q| ?\d\d:\d\d:\d\d up |\d+ (?:Jps|NamesrvStartup"
            r"|BrokerStartup|ProxyStartup|ControllerStartup|MQAdminStartup)[ \t]*$|Linux \S{1,255} \d"
            r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:[A-Z][a-z]{2} +\d+"
            r"|\d+ [A-Z][a-z]{2}) [^\n]{0,40}\d\d:\d\d|\d{4}年 ?\d"
            r"|\w{1,32} +\d+ +\d+ +\d+ +[\d:]{4,8} +\S{1,20} +\d\d:\d\d:\d\d "
            r"|\w{1,32} +\d+ +\d+\.\d +\d+\.\d +\d+ +\d+ "
            r"|[ \t]*\d+ +\w{1,32} +\d+ +-?\d+ +[\d.]+[gmt]? "
        ),
    ),
    Kind(
        "a session of a shell",
        "",
        _DIFFERENT_OUTPUTS,
        line=(
            r"(?:\[[^\]\n]{1,80}\]|[\w.@:~/-]{0,80})[$#>] ?(?:ls|cd|ps|top|date|free|df|cat|less|tail"
            r"|head|grep|vi|vim|ssh|kubectl|docker|jps|netstat|ss|pwd|whoami|history|exit)\b"
        ),
    ),
    Kind(
        "a warning of Java or its logging, as mqadmin prints before its output",
        "",
        f"the output itself is missing; {_AGAIN}",
        line=NOISE,
    ),
    Kind(
        "a stack trace of Java",
        "why something failed",
        _AGAIN,
        line=(
            r"[ \t]+at [\w.$/<>@-]{1,300}\([\w$ ]{1,100}(?:\.(?:java|kt|scala|groovy):\d+)?\)"
            r"|Caused by: \w|[ \t]+\.\.\. \d+ (?:more|common frames)|Exception in thread \""
        ),
    ),
    Kind(
        "a traceback of Python",
        "",
        _AGAIN,
        line=r"Traceback \(most recent call last\)|[ \t]+File \"[^\"\n]{1,300}\", line \d+",
    ),
    Kind(
        "a stack trace of Go",
        "",
        _AGAIN,
        line=r"goroutine \d+ \[|panic: |\t\S{1,300}\.go:\d+ \+0x",
    ),
    Kind(
        "an answer over HTTP",
        "",
        _DIFFERENT_OUTPUTS,
        line=r"HTTP/[\d.]{1,3} \d{3}\b",
    ),
    Kind(
        "a message or a document (Markdown, chat)",
        "",
        _AS_TEXT,
        line=(
            r"(?:```|~~~)|#{2,6} \S|> ?\S|\|[ :|-]{3,200}\|[ \t]*$"
            r"|\[\d\d?:\d\d(?::\d\d)?(?: [AP]M)?\] |\S{1,40} +\d\d?:\d\d(?::\d\d)?(?: ?[AP]M)?[ \t]*$"
            r"|\S{1,40}  ?\d{4}[-/]\d\d?[-/]\d\d? \d\d?:\d\d(?::\d\d)?[ \t]*$|(?:Hi|Hello|Hey|Dear"
            r"|Thanks|Regards|Best)\b[ ,]"
        ),
    ),
    Kind(
        "source code",
        "",
        _DIFFERENT_OUTPUTS,
        line=(
            r"(?:package|import|from|using|#include|public class|func|def|class|const|var"
            r"|let) [\w.<\"{*(]{1,200}[^\n]{0,200}[;{:\">)]?$"
        ),
        also=r"[;{(]",
    ),
    Kind(
        "XML",
        "",
        _DIFFERENT_OUTPUTS,
        line=r"[ \t]{0,80}</?[A-Za-z][\w.:-]{0,80}(?:[ \t][^>\n]{0,300})?>",
        mark=r"\A\s{0,999}<\?xml ",
    ),
    Kind(
        "the log of a program",
        "actions of one program",
        OWNERS,
        line=(
            r"[\[ \t]*\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d:\d\d[^\n]{0,200}?\b(?:TRACE|DEBUG|INFO|WARN"
            r"|WARNING|ERROR|FATAL|trace|debug|info|warn|warning|error|fatal)\b"
            r"|[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \S{1,255} \S{1,100}(?:\[\d+\])?: "
        ),
    ),
    _JSON := Kind(
        "JSON of no form that is known",
        "",
        f"{_DIFFERENT_OUTPUTS}, as rmqalloc's own snapshots are (rmqalloc schema snapshot)",
        mark=r'\A\s{0,999}[\[{]\s{0,999}[\]}"\[{]',
    ),
)

NOTHING = Kind(
    "empty",
    "",
    "the command that wrote it may have failed: run it again, and keep its errors (2>&1)",
)

GENERIC = (_JSON, NOTHING)
"""Kinds of which a parser says more: where in the text it is wrong."""

KINDS: tuple[Kind, ...] = (
    *_DOCUMENTS,
    *_MONITORING,
    *_DASHBOARD,
    *_STORE,
    *_CLOUDS,
    *_DEPLOYMENT,
    *_CONFIGURATION,
    *_FAILURES,
    *_COMMANDS,
    *_OTHER_BROKERS,
    *_JVM,
    *_LOGS,
    *_READ_WITHOUT_HEAD,
    *_TEXTS,
)
