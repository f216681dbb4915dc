// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Map;
import java.util.Set;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * What is rewritten in the classes of the client besides its clock: collections get an order that can be compared, transport
 * and pools are ours, the loop of passes runs in virtual time, and whoever would pull is only written down.
 */
final class ClientRewrites extends MethodVisitor {
    private static final String OURS = "io/rmqalloc/differential/";
    private static final String CLIENT = "org/apache/rocketmq/client/";
    private static final String SERVICE = "org/apache/rocketmq/common/ServiceThread";
    private static final String PULLS = CLIENT + "impl/consumer/PullMessageService";
    private static final String WRAPPER = CLIENT + "impl/consumer/PullAPIWrapper";
    private static final String PRODUCER = CLIENT + "impl/producer/DefaultMQProducerImpl";
    private static final String CONCURRENT_MAP = "Ljava/util/concurrent/ConcurrentMap;";

    private static final Map<String, String> MADE_INSTEAD = Map.of(
        "java/util/HashMap", OURS + "OrderedMap",
        "java/util/HashSet", OURS + "OrderedSet",
        "java/util/Random", OURS + "VirtualRandom",
        "java/util/concurrent/ScheduledThreadPoolExecutor", OURS + "UnusedPool",
        "java/util/concurrent/ThreadPoolExecutor", OURS + "ConsumePool",
        "org/apache/rocketmq/remoting/netty/NettyRemotingClient", OURS + "StubTransport");

    private static final String REBALANCE = CLIENT + "impl/consumer/RebalanceImpl";
    private static final Set<String> PASSES = Set.of("doRebalance", "destroy");
    private static final Set<String> QUEUE_TABLES = Set.of("processQueueTable", "popProcessQueueTable");
    private static final Set<String> DISPATCHES = Set.of("executePullRequestLater", "executePullRequestImmediately",
        "executePopPullRequestLater", "executePopPullRequestImmediately");

    private final String owner;
    private final String parent;

    private ClientRewrites(String owner, String parent, MethodVisitor next) {
        super(Opcodes.ASM9, next);
        this.owner = owner;
        this.parent = parent;
    }

    /** A visitor that rewrites a method; null if its whole body has been replaced. */
    static MethodVisitor over(String owner, String parent, String method, String type, MethodVisitor next) {
        if (owner.equals(PULLS) && DISPATCHES.contains(method)) {
            return dispatch(type, next);
        }
        if (owner.equals(WRAPPER) && (method.equals("pullKernelImpl") || method.equals("popAsync"))) {
            return pull(type, method.equals("popAsync") ? -1 : 6, next);
        }
        if (owner.equals(PRODUCER) && method.equals("start") && type.equals("(Z)V")) {
            return nothing(next, 2); // the producer inside each client has no part in a rebalance
        }
        return new ClientRewrites(owner, parent, owner.equals(REBALANCE) && PASSES.contains(method) ? passes(next) : next);
    }

    /** A method before which {@link Delays} hears of it. */
    private static MethodVisitor passes(MethodVisitor next) {
        return new MethodVisitor(Opcodes.ASM9, next) {
            @Override
            public void visitCode() {
                super.visitCode();
                super.visitVarInsn(Opcodes.ALOAD, 0);
                super.visitMethodInsn(Opcodes.INVOKESTATIC, OURS + "Delays", "passes", "(Ljava/lang/Object;)V", false);
            }
        };
    }

    /** The body of a method that would pull in a while: it is written down. */
    private static MethodVisitor dispatch(String type, MethodVisitor next) {
        next.visitCode();
        next.visitVarInsn(Opcodes.ALOAD, 1);
        if (type.contains(";J)")) {
            next.visitVarInsn(Opcodes.LLOAD, 2);
        } else {
            next.visitInsn(Opcodes.LCONST_0);
        }
        next.visitMethodInsn(Opcodes.INVOKESTATIC, OURS + "World", "dispatched", "(Ljava/lang/Object;J)V", false);
        return nothing(next, 4);
    }

    /** The body of a method that sends a pull or a pop: it is written down. */
    private static MethodVisitor pull(String type, int offsetAt, MethodVisitor next) {
        next.visitCode();
        next.visitVarInsn(Opcodes.ALOAD, 1);
        if (offsetAt > 0) {
            next.visitVarInsn(Opcodes.LLOAD, offsetAt);
        } else {
            next.visitLdcInsn(-1L);
        }
        next.visitMethodInsn(Opcodes.INVOKESTATIC, OURS + "World", "pulled", "(Ljava/lang/Object;J)V", false);
        if (!type.endsWith("V")) {
            next.visitInsn(Opcodes.ACONST_NULL);
            next.visitInsn(Opcodes.ARETURN);
        } else {
            next.visitInsn(Opcodes.RETURN);
        }
        next.visitMaxs(3, 32);
        next.visitEnd();
        return null;
    }

    private static MethodVisitor nothing(MethodVisitor next, int locals) {
        next.visitInsn(Opcodes.RETURN);
        next.visitMaxs(3, locals);
        next.visitEnd();
        return null;
    }

    private String instead(String type) {
        boolean ours = owner.startsWith(CLIENT) || type.equals("java/util/Random");
        return ours ? MADE_INSTEAD.getOrDefault(type, type) : type;
    }

    @Override
    public void visitTypeInsn(int opcode, String type) {
        super.visitTypeInsn(opcode, opcode == Opcodes.NEW ? instead(type) : type);
    }

    @Override
    public void visitFieldInsn(int opcode, String where, String name, String type) {
        if (opcode == Opcodes.PUTFIELD && type.equals(CONCURRENT_MAP) && where.startsWith(CLIENT)) {
            String both = "(" + CONCURRENT_MAP + ")" + CONCURRENT_MAP;
            String made = QUEUE_TABLES.contains(name) ? "byTopicInsteadOf" : "insteadOf";
            super.visitMethodInsn(Opcodes.INVOKESTATIC, OURS + "OrderedConcurrentMap", made, both, false);
        }
        super.visitFieldInsn(opcode, where, name, type);
    }

    @Override
    public void visitMethodInsn(int opcode, String where, String name, String type, boolean isInterface) {
        if (opcode == Opcodes.INVOKESPECIAL && name.equals("<init>") && !where.equals(parent)) {
            super.visitMethodInsn(opcode, instead(where), name, type, isInterface);
        } else if (owner.equals(SERVICE) && isOfLoop(where, name)) {
            String receiver = where.startsWith("java/lang/Thread") ? "Ljava/lang/Thread;" : "Ljava/lang/Object;";
            super.visitMethodInsn(Opcodes.INVOKESTATIC, OURS + "Loops", name, "(" + receiver + type.substring(1), false);
        } else {
            super.visitMethodInsn(opcode, where, name, type, isInterface);
        }
    }

    private static boolean isOfLoop(String where, String name) {
        return where.equals("java/lang/Thread") && (name.equals("start") || name.equals("join"))
            || where.equals("org/apache/rocketmq/common/CountDownLatch2") && (name.equals("await") || name.equals("countDown"));
    }
}
